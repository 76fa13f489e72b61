-- promise_4_lines: the unrounded lines of a cluster add up to its charges, in every variant.
--
-- reads    charges, variants, statement_lines, settings
-- returns  findings columns; one error per variant, cluster and currency that differs, and one
--          when there is nothing at all to state
WITH
charged AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        sum(cost) AS cluster_cost
    FROM charges
    WHERE row_kind <> 'outside' AND cost IS NOT NULL
    GROUP BY provider, cluster_id, billing_currency
),

expected_lines AS (
    SELECT
        variants.variant,
        charged.provider,
        charged.cluster_id,
        charged.billing_currency,
        charged.cluster_cost AS expected
    FROM charged
    CROSS JOIN variants
),

stated AS (
    SELECT
        variant,
        provider,
        cluster_id,
        billing_currency,
        sum(total - corrections) AS actual
    FROM statement_lines
    GROUP BY variant, provider, cluster_id, billing_currency
),

compared AS (
    SELECT
        provider,
        cluster_id,
        concat_ws(', ', 'variant ' || variant, billing_currency) AS place,
        expected_lines.expected,
        stated.actual
    FROM expected_lines
    FULL JOIN stated USING (variant, provider, cluster_id, billing_currency)
    WHERE stated.actual IS DISTINCT FROM expected_lines.expected
    UNION ALL BY NAME
    SELECT 'normalised has no row' AS place
    FROM charges
    HAVING count(*) = 0
)

SELECT
    settings.billing_period,
    'promise_4_lines' AS rule,
    'error' AS severity,
    compared.provider,
    compared.cluster_id,
    compared.place AS "where",
    coalesce(compared.expected::VARCHAR, 'a charge') AS expected,
    coalesce(compared.actual::VARCHAR, 'no line') AS actual,
    (compared.actual - compared.expected)::VARCHAR AS difference,
    'statements do not show what was charged; report this as a defect' AS hint
FROM compared
CROSS JOIN settings
