-- teams: how much workload has no team, and in which namespaces.
--
-- reads    examined
-- returns  columns of a check and the step that mends it; one row for each cluster with workload
WITH
namespaces AS (
    SELECT
        provider,
        source,
        billing_currency,
        cluster_id,
        coalesce(namespace, '(none)') AS namespace,
        sum(cost) AS workload_cost,
        coalesce(sum(cost) FILTER (WHERE team IS NULL), 0) AS without_team
    FROM examined
    WHERE row_kind = 'workload'
    GROUP BY ALL
),

clusters AS (
    SELECT
        provider,
        source,
        billing_currency,
        cluster_id,
        sum(workload_cost) AS workload_cost,
        sum(without_team) AS without_team,
        list(namespace ORDER BY without_team DESC, namespace ASC) FILTER (
            WHERE without_team <> 0
        ) AS unclaimed
    FROM namespaces
    GROUP BY ALL
)

SELECT
    provider,
    source,
    billing_currency,
    cluster_id,
    if(unclaimed IS NULL, 'ok', 'warning') AS status,
    if(unclaimed IS NULL, NULL, 'teams') AS step,
    coalesce(round(100 * without_team / nullif(workload_cost, 0), 1)::VARCHAR || ' % of ', '')
    || round(workload_cost, 2)::DECIMAL(38, 2) || ' ' || billing_currency
    || ' workload without team'
    || coalesce(': ' || array_to_string(unclaimed[:5], ', '), '')
    || if(len(unclaimed) > 5, ' and ' || (len(unclaimed) - 5) || ' more', '') AS actual,
    'a team for every namespace' AS expected
FROM clusters
ORDER BY provider, source, cluster_id, billing_currency
