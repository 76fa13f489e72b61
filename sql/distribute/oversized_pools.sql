-- oversized_pools: pools that 128-bit integers cannot distribute exactly.
--
-- reads    pools
-- returns  pool_id, pool_amount; no row when all is well
SELECT
    pool_id,
    pool_amount
FROM pools
WHERE abs(pool_amount) > 170000000000
ORDER BY pool_id
