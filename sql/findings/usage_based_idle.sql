-- usage_based_idle: the provider calls cost idle that is paid by use.
--
-- reads    reconciliation
-- returns  findings columns; one info per cluster, resource kind and currency
-- promise  none of it is idle here (promise 6): it is shared, and the bridge says how much
SELECT
    billing_period,
    'usage_based_idle' AS rule,
    'info' AS severity,
    provider,
    cluster_id,
    concat(
        resource_kind, ', called ',
        string_agg(DISTINCT provider_class, ', ' ORDER BY provider_class ASC)
    ) AS "where",
    'idle of capacity that is paid by time' AS expected,
    -sum(amount) || ' ' || billing_currency || ' paid by use, which the provider calls idle'
        AS actual,
    (-sum(amount))::VARCHAR AS difference,
    'it is shown as shared, never as idle: nobody saves it by filling nodes' AS hint
FROM reconciliation
WHERE name = 'not_time_based'
GROUP BY billing_period, provider, cluster_id, resource_kind, billing_currency
HAVING bool_or(amount <> 0)
