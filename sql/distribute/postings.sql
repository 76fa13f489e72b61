-- shares: gives every pool to its claimants. The only place where money moves.
--
-- reads    claims
-- returns  distribution, claimant, team, weight, weight_total, amount (DECIMAL(38,12))
-- promise  in every distribution SUM(amount) is the pool's amount, exactly
-- how      Largest remainder, on quanta of 1e-12: each share of |pool| is rounded down, then
--          the quanta still missing are handed out one by one, biggest leftover first, ties by
--          team name, the bearer and workload without a team last. Then the sign is put back.
--          What nobody claims, and the part of workload without a team, goes to the bearer.
WITH
rounded_down AS (
    SELECT
        *,
        sum(parts) OVER (PARTITION BY distribution) AS parts_total,
        pool_quanta * parts // parts_total AS whole,
        pool_quanta * parts - whole * parts_total AS leftover
    FROM claims
),

ranked AS (
    SELECT
        *,
        pool_quanta - sum(whole) OVER (PARTITION BY distribution) AS missing,
        row_number() OVER (
            PARTITION BY distribution
            ORDER BY
                leftover DESC, claimant IS NULL ASC, claimant IS NOT DISTINCT FROM bearer ASC,
                claimant ASC
        ) AS turn
    FROM rounded_down
)

SELECT
    distribution,
    claimant,
    weight,
    weight_total,
    coalesce(claimant, bearer) AS team,
    money((whole + (turn <= missing)::INTEGER) * if(is_negative, -1, 1)) AS amount
FROM ranked
