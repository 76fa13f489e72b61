-- team_amounts: what each team bears of each row kind, in each variant.
--
-- reads    shares, assignments, pools, variants
-- returns  variant, provider, cluster_id, billing_currency, team, kind, amount
-- promise  a variant takes the kinds it forces from its own postings and all others from the
--          rules in force
WITH
by_variant AS (
    SELECT
        assignments.variant,
        pools.provider,
        pools.cluster_id,
        pools.billing_currency,
        shares.team,
        pools.row_kind AS kind,
        sum(shares.amount) AS amount
    FROM shares
    INNER JOIN assignments USING (distribution)
    INNER JOIN pools USING (pool)
    GROUP BY ALL
)

SELECT
    variants.variant,
    by_variant.provider,
    by_variant.cluster_id,
    by_variant.billing_currency,
    by_variant.team,
    by_variant.kind,
    by_variant.amount
FROM variants
INNER JOIN by_variant
    ON
        variants.variant = by_variant.variant
        OR (
            by_variant.variant = 'rules'
            AND NOT list_contains(variants.kinds, by_variant.kind)
        )
