-- claims: who claims which parts of each distribution.
--
-- reads    distributions, pools
--          weights   distribution, claimant, weight (DECIMAL(38,12)); only weights above 0 count
-- returns  distribution, bearer, pool_amount, claimant, weight, weight_total, parts (HUGEINT)
-- promise  every distribution has a claim: without weights there is one claim on the whole,
--          with claimant and weight NULL, for the pool's bearer
-- how      parts are weights in quanta. Where these add up to 1e15 or more, all are divided by
--          the smallest power of ten that mends it and floored, so that a pool of 1.7e11 units
--          times its parts fits HUGEINT.
WITH
weighted AS (
    SELECT
        distribution,
        claimant,
        weight,
        sum(weight) OVER (PARTITION BY distribution) AS weight_total
    FROM weights
    WHERE weight > 0
)

SELECT
    distributions.distribution,
    pools.bearer,
    pools.pool_amount,
    weighted.claimant,
    weighted.weight,
    weighted.weight_total,
    power_of_ten(greatest(length(quanta(weighted.weight_total)::VARCHAR) - 15, 0)) AS shrink,
    coalesce(quanta(weighted.weight) // shrink, 1) AS parts
FROM distributions
INNER JOIN pools USING (pool)
LEFT JOIN weighted USING (distribution)
