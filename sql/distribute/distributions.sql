-- distributions: every pool once for the rules in force, and once for each variant that
-- forces its row kind. This is what lets one SQL serve the statements and the comparison.
--
-- reads    pools, variants
-- returns  distribution (its number), variant, pool, method, by
-- promise  one row per variant and pool it concerns; pools and their scopes are the same in all
SELECT
    variants.variant,
    pools.pool,
    row_number() OVER (ORDER BY variants.position ASC, pools.pool ASC) AS distribution,
    CASE WHEN variants.kinds IS NULL THEN pools.rule_method ELSE variants.method END AS method,
    CASE WHEN variants.kinds IS NULL THEN pools.rule_by ELSE variants."by" END AS "by"
FROM pools
INNER JOIN variants
    ON variants.kinds IS NULL OR list_contains(variants.kinds, pools.row_kind)
