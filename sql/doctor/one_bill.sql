-- one_bill: which clusters get the cost of their nodes from several sources for the same days.
--
-- reads    examined
-- returns  columns of a check and the step that mends it; one row for each such cluster
WITH
days AS (
    SELECT
        provider,
        billing_currency,
        cluster_id,
        charge_date,
        list_sort(list(DISTINCT source)) AS sources
    FROM examined
    WHERE
        row_kind IN ('workload', 'idle', 'headroom', 'system_overhead', 'unattributed')
        AND resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
        AND cost <> 0
    GROUP BY ALL
)

SELECT
    provider,
    NULL AS source,
    billing_currency,
    cluster_id,
    'warning' AS status,
    'one_bill' AS step,
    'several sources bill its nodes on the same days: '
    || array_to_string(list_sort(list_distinct(flatten(list(sources)))), ', ')
    || '; ' || min(charge_date)
    || if(count(*) > 1, ' to ' || max(charge_date) || ', ' || count(*) || ' days', '') AS actual,
    'each day of a cluster from one source, or its bill is counted twice' AS expected
FROM days
WHERE len(sources) > 1
GROUP BY provider, billing_currency, cluster_id
ORDER BY provider, cluster_id, billing_currency
