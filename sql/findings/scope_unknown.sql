-- scope_unknown: a rule asks for a finer scope than the rows know.
--
-- reads    pools, settings
-- returns  findings columns; one per rule, cluster and row kind: a warning where node cost lacks
--          its node or node pool, an info where the cost has no node by nature
SELECT
    settings.billing_period,
    'scope_unknown' AS rule,
    if(bool_or(pools.is_node_cost), 'warning', 'info') AS severity,
    pools.provider,
    pools.cluster_id,
    'allocation rule ' || pools.allocation_rule || ', ' || pools.row_kind AS "where",
    pools.asked_scope AS expected,
    string_agg(DISTINCT pools.scope, ', ' ORDER BY pools.scope ASC) AS actual,
    sum(pools.pool_amount)::VARCHAR AS difference,
    'this amount was distributed in the coarser scope; give the rule that scope, or a rule of its '
    || 'own to this row kind' AS hint
FROM pools
CROSS JOIN settings
WHERE pools.scope <> pools.asked_scope
GROUP BY
    settings.billing_period, pools.provider, pools.cluster_id, pools.allocation_rule,
    pools.row_kind, pools.asked_scope, pools.billing_currency
