-- assignments: how each pool is distributed in each variant.
--
-- reads    pools, entitled, variants
-- returns  variant, pool, method, by
--          weighed_by     the method that gives the weights: the rule's fallback, where nobody
--                         who takes part has a weight above 0 of a rule that has one
--          distribution   a number for each pool, weighed_by and by
-- promise  one row per variant and pool it concerns: every pool for the rules in force, and for
--          another variant the pools of the kinds it forces. Pools and their scopes are the same
--          in all, so variants that agree on a pool share one distribution.
WITH
without_weight AS (
    SELECT entitled.pool
    FROM entitled
    INNER JOIN pools USING (pool)
    WHERE pools.rule_fallback IS NOT NULL
    GROUP BY entitled.pool
    HAVING coalesce(max(entitled.rule_weight), 0) = 0
),

assigned AS (
    SELECT
        variants.variant,
        pools.pool,
        if(variants.kinds IS NULL, pools.rule_method, variants.method) AS method,
        if(variants.kinds IS NULL, pools.rule_by, variants."by") AS "by",
        CASE
            WHEN variants.kinds IS NOT NULL THEN variants.method
            WHEN without_weight.pool IS NULL THEN pools.rule_method
            ELSE pools.rule_fallback
        END AS weighed_by
    FROM pools
    INNER JOIN variants
        ON variants.kinds IS NULL OR list_contains(variants.kinds, pools.row_kind)
    LEFT JOIN without_weight USING (pool)
)

SELECT
    *,
    dense_rank() OVER (ORDER BY pool ASC, weighed_by ASC, "by" ASC) AS distribution
FROM assigned
