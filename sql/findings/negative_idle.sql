-- negative_idle: pods were charged for more than their nodes are.
--
-- reads    charges, node_days, settings
-- returns  findings columns; one warning per cluster, resource kind and currency with idle below
--          0, which names the cause of each part
-- promise  the rows stay as they are: raising them to 0 would make money
-- how      from a millionth of a unit on; below lies what rounding a product or the provider's
--          doubles leave of a node that is exactly full
WITH
below AS (
    SELECT
        charges.provider,
        charges.cluster_id,
        charges.resource_kind,
        charges.billing_currency,
        concat_ws('/', charges.resource_id, charges.charge_period_start) AS node_day,
        charges.cost,
        CASE
            WHEN charges.charge_class = 'Correction' THEN 'a correction of the provider'
            WHEN
                settings.charge_basis = 'request'
                AND charges.reason = 'unrequested'
                AND node_days.requested IS NOT NULL
                AND node_days.provider_idle >= 0
                THEN 'pods request more than their nodes have'
            ELSE 'the provider itself shows it so'
        END AS because
    FROM charges
    CROSS JOIN settings
    LEFT JOIN node_days
        ON
            charges.provider = node_days.provider
            AND charges.cluster_id = node_days.cluster_id
            AND charges.node_name = node_days.node_name
            AND charges.resource_id = node_days.resource_id
            AND charges.charge_period_start = node_days.charge_date
            AND charges.resource_kind = node_days.resource_kind
            AND charges.billing_currency = node_days.billing_currency
    WHERE charges.row_kind = 'idle' AND charges.cost < -0.000001
),

causes AS (
    SELECT
        provider,
        cluster_id,
        resource_kind,
        billing_currency,
        because,
        count(DISTINCT node_day) AS day_count,
        sum(cost) AS cost
    FROM below
    GROUP BY provider, cluster_id, resource_kind, billing_currency, because
)

SELECT
    settings.billing_period,
    'negative_idle' AS rule,
    'warning' AS severity,
    causes.provider,
    causes.cluster_id,
    causes.resource_kind || ', days of nodes: ' || sum(causes.day_count) AS "where",
    'idle of 0 or more' AS expected,
    string_agg(
        causes.cost || ' ' || causes.billing_currency || ': ' || causes.because, '; '
        ORDER BY causes.because ASC
    ) AS actual,
    sum(causes.cost)::VARCHAR AS difference,
    'it stays below 0 and lowers what is distributed; where pods request more than there is, '
    || '`leerlauf reconcile` shows it as over-allocation: lower requests, or count on use' AS hint
FROM causes
CROSS JOIN settings
GROUP BY
    settings.billing_period, causes.provider, causes.cluster_id, causes.resource_kind,
    causes.billing_currency
