-- daily_costs: charges of clusters, summed to the finest grain the ledger looks at.
--
-- reads    charges
-- returns  one row per day, charge class, cluster, currency, row kind, reason, resource kind,
--          team, node pool and node, with
--          node               the node's resource_id; NULL for what is no node's cost, and
--                             where nobody knows which node's it is
--          is_node_cost       cpu, memory, gpu or compute
--          is_node_workload   workload charged through a node: not a Fargate pod or a disk claim
--          cost, workload_idle (billing currency)
-- promise  sums of cost are those of charges
SELECT
    charge_period_start AS charge_date,
    charge_class,
    provider,
    cluster_id,
    billing_currency,
    row_kind,
    reason,
    resource_kind,
    team,
    node_pool,
    resource_kind IN ('cpu', 'memory', 'gpu', 'compute') AS is_node_cost,
    CASE WHEN is_node_cost AND node_name IS NOT NULL THEN resource_id END AS node,
    row_kind = 'workload' AND is_node_cost AND split_source IS NOT NULL AS is_node_workload,
    sum(cost) AS cost,
    sum(workload_idle) AS workload_idle
FROM charges
WHERE row_kind <> 'outside' AND cost IS NOT NULL
GROUP BY ALL
