-- participants: who takes part in each distribution, and what a method may weigh them by.
--
-- reads    distributions, pools, workload_costs
-- returns  distribution, method, by, claimant (a team; NULL is all workload without a team)
--          resource_cost   cost of what the pool is made of: cpu by cpu, memory by memory, gpu
--                          by gpu, idle disks by storage, compute by all node workload,
--                          anything else by all workload; never below 0
--          total_cost      all node workload for node cost, all workload for the rest; above 0
-- promise  each claimant once a distribution; nobody from another scope, day or currency.
--          `none` asks nobody, so nobody is looked up for it.
SELECT
    distributions.distribution,
    distributions.method,
    distributions."by",
    workload_costs.claimant,
    greatest(
        CASE
            WHEN pools.resource_kind = 'cpu' THEN workload_costs.cpu
            WHEN pools.resource_kind = 'memory' THEN workload_costs.memory
            WHEN pools.resource_kind = 'gpu' THEN workload_costs.gpu
            WHEN pools.resource_kind = 'compute' THEN workload_costs.node
            WHEN pools.resource_kind = 'storage' AND pools.row_kind IN ('idle', 'headroom')
                THEN workload_costs.storage
            ELSE workload_costs.everything
        END, 0
    ) AS resource_cost,
    CASE WHEN pools.is_node_cost THEN workload_costs.node ELSE workload_costs.everything END
        AS total_cost
FROM distributions
INNER JOIN pools USING (pool)
INNER JOIN workload_costs
    USING (charge_date, provider, cluster_id, billing_currency, scope, scope_key)
WHERE distributions.method <> 'none' AND total_cost > 0
