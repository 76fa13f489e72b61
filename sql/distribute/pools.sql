-- pools: the amounts to give to somebody, and the rule that says how.
--
-- reads    daily_costs, rules_in_force, clusters
-- returns  one row a pool: its keys, pool_amount, rule_method, rule_by, rule_fallback, and
--          pool         its number, for joins; pool_id is its readable name
--          position     of its rule; NULL where none applies
--          asked_scope  the scope the rule asks for; scope is what the rows know, the next
--                       coarser one where they do not know it
--          bearer       who takes what no weight claims: a workload's own team, nobody (NULL)
--                       for unattributed, else the operator (NULL where none is configured)
-- promise  sums are those of daily_costs; names and numbers are the same in every run
WITH
placed AS (
    SELECT
        daily_costs.*,
        rules_in_force.position,
        rules_in_force.allocation_rule,
        rules_in_force.method AS rule_method,
        rules_in_force."by" AS rule_by,
        rules_in_force.fallback AS rule_fallback,
        rules_in_force.asked_scope,
        CASE
            WHEN rules_in_force.asked_scope = 'node' AND daily_costs.node IS NOT NULL THEN 'node'
            WHEN rules_in_force.asked_scope <> 'cluster' AND daily_costs.node_pool IS NOT NULL
                THEN 'node_pool'
            ELSE 'cluster'
        END AS scope,
        CASE scope
            WHEN 'node' THEN daily_costs.node
            WHEN 'node_pool' THEN daily_costs.node_pool
            ELSE daily_costs.cluster_id
        END AS scope_key,
        CASE daily_costs.row_kind
            WHEN 'workload' THEN daily_costs.team
            WHEN 'unattributed' THEN NULL
            ELSE clusters.operator
        END AS bearer
    FROM daily_costs
    INNER JOIN rules_in_force USING (row_kind, provider, cluster_id, charge_date)
    INNER JOIN clusters USING (provider, cluster_id)
),

pooled AS (
    SELECT
        * EXCLUDE (team, node_pool, node, is_node_workload, cost, workload_idle),
        concat_ws(
            '/', charge_date, provider, cluster_id, billing_currency, coalesce(charge_class, '-'),
            row_kind, coalesce(reason, '-'), resource_kind, scope, scope_key,
            CASE WHEN row_kind IN ('workload', 'unattributed') THEN coalesce(bearer, '-') END
        ) AS pool_id,
        sum(cost) AS pool_amount
    FROM placed
    GROUP BY ALL
)

SELECT
    *,
    row_number() OVER (ORDER BY pool_id ASC, pooled ASC) AS pool
FROM pooled
