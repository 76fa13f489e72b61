-- workload_costs: what each claimant's workload cost on a day, in each scope.
--
-- reads    daily_costs
-- returns  charge_date, provider, cluster_id, billing_currency, scope, scope_key,
--          claimant (a team; NULL is all workload without a team), and its cost:
--          cpu, memory, gpu    node workload of that resource kind
--          node                all node workload
--          storage             workload of resource kind storage
--          everything          all workload
-- promise  one row per scope and claimant; corrections count on the day they are about
WITH
workload AS (
    SELECT *
    FROM daily_costs
    WHERE row_kind = 'workload'
),

scoped AS (
    SELECT
        *,
        'node' AS scope,
        node AS scope_key
    FROM workload
    WHERE node IS NOT NULL
    UNION ALL
    SELECT
        *,
        'node_pool' AS scope,
        node_pool AS scope_key
    FROM workload
    WHERE node_pool IS NOT NULL
    UNION ALL
    SELECT
        *,
        'cluster' AS scope,
        cluster_id AS scope_key
    FROM workload
)

SELECT
    charge_date,
    provider,
    cluster_id,
    billing_currency,
    scope,
    scope_key,
    team AS claimant,
    sum(cost) FILTER (WHERE is_node_workload AND resource_kind = 'cpu') AS cpu,
    sum(cost) FILTER (WHERE is_node_workload AND resource_kind = 'memory') AS memory,
    sum(cost) FILTER (WHERE is_node_workload AND resource_kind = 'gpu') AS gpu,
    sum(cost) FILTER (WHERE is_node_workload) AS node,
    sum(cost) FILTER (WHERE resource_kind = 'storage') AS storage,
    sum(cost) AS everything
FROM scoped
GROUP BY charge_date, provider, cluster_id, billing_currency, scope, scope_key, team
