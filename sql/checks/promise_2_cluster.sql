-- promise_2_cluster: the seven kinds of a cluster add up to its bill, exactly, in each view.
--
-- reads    both_views, cluster_bills (summed before anything was split), settings
-- returns  findings columns; one error per cluster, currency and cost view that differs, one
--          when there are no rows at all, and a warning when no bill knows a cluster
WITH
kinds_amounts AS (
    SELECT
        provider,
        source,
        cluster_id,
        billing_currency,
        cost_view,
        sum(amount) AS actual
    FROM both_views
    WHERE NOT is_outside
    GROUP BY provider, source, cluster_id, billing_currency, cost_view
),

bills AS (
    SELECT
        provider,
        source,
        cluster_id,
        billing_currency,
        cost_view,
        sum(amount) AS expected
    FROM cluster_bills
    GROUP BY provider, source, cluster_id, billing_currency, cost_view
),

offending AS (
    SELECT
        'error' AS severity,
        provider,
        source,
        cluster_id,
        concat_ws(', ', source, billing_currency, cost_view) AS place,
        bills.expected,
        kinds_amounts.actual
    FROM bills
    FULL JOIN kinds_amounts USING (provider, source, cluster_id, billing_currency, cost_view)
    WHERE kinds_amounts.actual IS DISTINCT FROM bills.expected
    UNION ALL BY NAME
    SELECT
        if(count(*) = 0, 'error', 'warning') AS severity,
        'no bill knows a cluster' AS place
    FROM both_views
    HAVING count(*) FILTER (WHERE NOT is_outside) = 0
)

SELECT
    settings.billing_period,
    'promise_2_cluster' AS rule,
    offending.severity,
    offending.provider,
    offending.source,
    offending.cluster_id,
    offending.place AS "where",
    coalesce(offending.expected::VARCHAR, 'a bill of this cluster') AS expected,
    coalesce(offending.actual::VARCHAR, 'no row') AS actual,
    (offending.actual - offending.expected)::VARCHAR AS difference,
    'without clusters on the bill, check the source; else report this as a defect' AS hint
FROM offending
CROSS JOIN settings
