-- assignments: how each pool is distributed in each variant.
--
-- reads    pools, variants
-- returns  variant, pool, method, by, distribution (a number for each pool, method and by)
-- promise  one row per variant and pool it concerns: every pool for the rules in force, and for
--          another variant the pools of the kinds it forces. Pools and their scopes are the same
--          in all, so variants that agree on a pool share one distribution.
WITH
assigned AS (
    SELECT
        variants.variant,
        pools.pool,
        if(variants.kinds IS NULL, pools.rule_method, variants.method) AS method,
        if(variants.kinds IS NULL, pools.rule_by, variants."by") AS "by"
    FROM pools
    INNER JOIN variants
        ON variants.kinds IS NULL OR list_contains(variants.kinds, pools.row_kind)
)

SELECT
    *,
    dense_rank() OVER (ORDER BY pool ASC, method ASC, "by" ASC) AS distribution
FROM assigned
