-- claims: who claims which parts of each distribution.
--
-- reads    distributions, pools
--          weights   distribution, claimant, weight (DECIMAL(38,12)); only weights above 0 count
-- returns  distribution, bearer, is_negative, pool_quanta (of |pool|), claimant, weight,
--          weight_total, parts (HUGEINT)
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
        weight
    FROM weights
    WHERE weight > 0
),

totals AS (
    SELECT
        distribution,
        sum(weight) AS weight_total,
        power_of_ten(greatest(length(quanta(weight_total)::VARCHAR) - 15, 0)) AS shrink
    FROM weighted
    GROUP BY distribution
),

pools_to_share AS (
    SELECT
        distributions.distribution,
        pools.bearer,
        pools.pool_amount < 0 AS is_negative,
        quanta(abs(pools.pool_amount)) AS pool_quanta,
        totals.weight_total,
        totals.shrink
    FROM distributions
    INNER JOIN pools USING (pool)
    LEFT JOIN totals USING (distribution)
)

SELECT
    pools_to_share.*,
    weighted.claimant,
    weighted.weight,
    CASE
        WHEN weighted.weight IS NULL THEN 1
        WHEN pools_to_share.shrink = 1 THEN quanta(weighted.weight)
        ELSE quanta(weighted.weight) // pools_to_share.shrink
    END AS parts
FROM pools_to_share
LEFT JOIN weighted USING (distribution)
