-- entitled: who takes part in each pool, and what a method may weigh them by.
--
-- reads    pools, workload_costs, rule_weights
--          allocation_rules   position, teams (who alone takes part), excepted (who does not);
--                             names of teams, NULL without
-- returns  pool, claimant (a team; NULL is all workload without a team)
--          resource_cost   cost of what the pool is made of: cpu by cpu, memory by memory, gpu
--                          by gpu, idle disks by storage, compute by all node workload,
--                          anything else by all workload; never below 0
--          total_cost      all node workload for node cost, all workload for the rest; above 0
--          rule_weight     a share of the rule or a value of its metric; NULL where it has none
-- promise  each claimant once a pool; nobody from another scope, day or currency. Whom a rule
--          leaves out takes no part under another method either. Nobody is looked up for
--          workload and unattributed, which are never distributed.
WITH
present AS (
    SELECT
        pools.pool,
        pools.position,
        pools.provider,
        pools.cluster_id,
        pools.charge_date,
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
    FROM pools
    INNER JOIN workload_costs
        USING (charge_date, provider, cluster_id, billing_currency, scope, scope_key)
    WHERE pools.row_kind NOT IN ('workload', 'unattributed') AND total_cost > 0
)

SELECT
    present.pool,
    present.claimant,
    present.resource_cost,
    present.total_cost,
    rule_weights.rule_weight
FROM present
LEFT JOIN allocation_rules USING (position)
LEFT JOIN rule_weights
    ON
        present.position = rule_weights.position
        AND present.provider = rule_weights.provider
        AND present.cluster_id = rule_weights.cluster_id
        AND present.charge_date = rule_weights.charge_date
        AND present.claimant IS NOT DISTINCT FROM rule_weights.claimant
WHERE takes_part(present.claimant, allocation_rules.teams, allocation_rules.excepted)
