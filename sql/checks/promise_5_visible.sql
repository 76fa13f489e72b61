-- promise_5_visible: statements show all idle, headroom and overhead, whatever the method.
--
-- reads    charges, variants, statement_lines, settings
-- returns  findings columns; one error per variant, cluster, currency and kind that is not shown
--          as it was before distribution
WITH
charged AS (
    SELECT
        variants.variant,
        charges.provider,
        charges.cluster_id,
        charges.billing_currency,
        charges.row_kind,
        sum(charges.cost) AS expected
    FROM charges
    CROSS JOIN variants
    WHERE
        charges.row_kind IN ('idle', 'headroom', 'system_overhead')
        AND charges.cost IS NOT NULL
    GROUP BY ALL
),

kinds AS (
    SELECT
        variant,
        provider,
        cluster_id,
        billing_currency,
        unnest(['idle', 'headroom', 'system_overhead']) AS row_kind,
        unnest([idle, headroom, system_overhead]) AS amount
    FROM statement_lines
),

shown AS (
    SELECT
        variant,
        provider,
        cluster_id,
        billing_currency,
        row_kind,
        sum(amount) AS actual
    FROM kinds
    GROUP BY variant, provider, cluster_id, billing_currency, row_kind
)

SELECT
    settings.billing_period,
    'promise_5_visible' AS rule,
    'error' AS severity,
    provider,
    cluster_id,
    concat_ws(', ', 'variant ' || variant, row_kind, billing_currency) AS "where",
    coalesce(charged.expected, 0)::VARCHAR AS expected,
    coalesce(shown.actual::VARCHAR, 'not shown') AS actual,
    (shown.actual - coalesce(charged.expected, 0))::VARCHAR AS difference,
    'distribution hid or invented capacity cost; report this as a defect' AS hint
FROM charged
FULL JOIN shown USING (variant, provider, cluster_id, billing_currency, row_kind)
CROSS JOIN settings
WHERE coalesce(shown.actual, 0) <> coalesce(charged.expected, 0)
