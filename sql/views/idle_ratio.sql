-- idle_ratio: how much of each node stood idle, by node pool, node and resource kind.
--
-- reads    charges, blind_spots
-- returns  billing_period, provider, cluster_id, node_pool, resource_id, resource_kind,
--          billing_currency, workload, idle, headroom, system_overhead (billing currency), and
--          idle_ratio = idle / (workload + idle + headroom + system_overhead)
-- promise  node cost only: no disk, fee or pod that is billed directly stands in the divisor.
--          Where idle is unknown, so is the ratio.
WITH
node_costs AS (
    SELECT
        billing_period,
        provider,
        cluster_id,
        node_pool,
        resource_id,
        resource_kind,
        billing_currency,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'workload'), 0) AS workload,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'idle'), 0) AS idle,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'headroom'), 0) AS headroom,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'system_overhead'), 0) AS system_overhead,
        sum(cost) AS node_cost
    FROM charges
    WHERE is_node_row(row_kind, resource_kind, split_source)
    GROUP BY ALL
)

SELECT
    node_costs.billing_period,
    node_costs.provider,
    node_costs.cluster_id,
    node_costs.node_pool,
    node_costs.resource_id,
    node_costs.resource_kind,
    node_costs.billing_currency,
    if(list_contains(blind_spots.kinds, 'workload'), NULL, node_costs.workload) AS workload,
    if(list_contains(blind_spots.kinds, 'idle'), NULL, node_costs.idle) AS idle,
    if(list_contains(blind_spots.kinds, 'headroom'), NULL, node_costs.headroom) AS headroom,
    node_costs.system_overhead,
    if(list_contains(blind_spots.kinds, 'idle'), NULL, node_costs.idle)
    / nullif(node_costs.node_cost, 0) AS idle_ratio
FROM node_costs
LEFT JOIN blind_spots USING (provider, cluster_id)
