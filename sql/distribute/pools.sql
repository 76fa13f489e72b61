-- pools: the amounts to give to somebody, and the rule that says how.
--
-- reads    daily_costs, rules_in_force, clusters, unknown_reserves
-- returns  one row a pool: its keys, pool_amount, rule_method, rule_by, rule_fallback, and
--          pool         its number, for joins; pool_id is its readable name
--          position     of its rule; NULL where none applies
--          asked_scope  the scope the rule asks for; scope is what the rows know, the next
--                       coarser one where they do not know it
--          bearer       who takes what no weight claims: a workload's own team, nobody (NULL)
--                       for unattributed, else the operator (NULL where none is configured)
--          holds_reserve  whether idle in it includes what nodes reserve, which nobody knows
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
        END AS bearer,
        unknown_reserves.idle IS NOT NULL AS holds_reserve
    FROM daily_costs
    INNER JOIN rules_in_force USING (row_kind, provider, cluster_id, charge_date)
    INNER JOIN clusters USING (provider, cluster_id)
    LEFT JOIN unknown_reserves
        ON
            daily_costs.row_kind = unknown_reserves.row_kind
            AND daily_costs.provider = unknown_reserves.provider
            AND daily_costs.cluster_id = unknown_reserves.cluster_id
            AND daily_costs.charge_date = unknown_reserves.charge_date
            AND daily_costs.resource_kind = unknown_reserves.resource_kind
            AND daily_costs.billing_currency = unknown_reserves.billing_currency
            AND daily_costs.node IS NOT DISTINCT FROM unknown_reserves.node
),

pooled AS (
    SELECT
        * EXCLUDE (
            team, node_pool, node, is_node_workload, cost, workload_idle, holds_reserve
        ),
        concat_ws(
            '/', charge_date, provider, cluster_id, billing_currency, coalesce(charge_class, '-'),
            row_kind, coalesce(reason, '-'), resource_kind, scope, scope_key,
            CASE WHEN row_kind IN ('workload', 'unattributed') THEN coalesce(bearer, '-') END
        ) AS pool_id,
        sum(cost) AS pool_amount,
        bool_or(holds_reserve) AS holds_reserve
    FROM placed
    GROUP BY ALL
)

SELECT
    *,
    row_number() OVER (ORDER BY pool_id ASC, pooled ASC) AS pool
FROM pooled
