-- promise_3_postings: the published postings are the charges of the clusters, kind by kind.
--
-- reads    charges, postings, settings
-- returns  findings columns; one error per cluster, day, currency and kind that differs, and one
--          when there is nothing at all to distribute from
WITH
charged AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        charge_period_start AS charge_date,
        row_kind,
        sum(cost) AS expected
    FROM charges
    WHERE row_kind <> 'outside' AND cost IS NOT NULL
    GROUP BY provider, cluster_id, billing_currency, charge_period_start, row_kind
),

posted AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        charge_date,
        row_kind,
        sum(amount) AS actual
    FROM postings
    GROUP BY provider, cluster_id, billing_currency, charge_date, row_kind
),

compared AS (
    SELECT
        provider,
        cluster_id,
        concat_ws(', ', charge_date, row_kind, billing_currency) AS place,
        charged.expected,
        posted.actual
    FROM charged
    FULL JOIN posted USING (provider, cluster_id, billing_currency, charge_date, row_kind)
    WHERE posted.actual IS DISTINCT FROM charged.expected
    UNION ALL BY NAME
    SELECT 'normalised has no row' AS place
    FROM charges
    HAVING count(*) = 0
)

SELECT
    settings.billing_period,
    'promise_3_postings' AS rule,
    'error' AS severity,
    compared.provider,
    compared.cluster_id,
    compared.place AS "where",
    coalesce(compared.expected::VARCHAR, 'a charge') AS expected,
    coalesce(compared.actual::VARCHAR, 'no posting') AS actual,
    (compared.actual - compared.expected)::VARCHAR AS difference,
    'charges did not arrive in postings; report this as a defect' AS hint
FROM compared
CROSS JOIN settings
