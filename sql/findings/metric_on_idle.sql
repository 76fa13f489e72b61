-- metric_on_idle: a metric distributes idle or headroom.
--
-- reads    pools, settings
-- returns  findings columns; one warning per rule, cluster, row kind and currency
SELECT
    settings.billing_period,
    'metric_on_idle' AS rule,
    'warning' AS severity,
    pools.provider,
    pools.cluster_id,
    'allocation rule ' || pools.allocation_rule || ', ' || pools.row_kind AS "where",
    'a method that follows what teams request' AS expected,
    'metric' AS actual,
    sum(pools.pool_amount)::VARCHAR AS difference,
    'nodes are kept for what is requested: whoever requests much and uses little would leave its '
    || 'idle to the others; take proportional, or keep it if the metric is requests' AS hint
FROM pools
CROSS JOIN settings
WHERE pools.rule_method = 'metric' AND pools.row_kind IN ('idle', 'headroom')
GROUP BY
    settings.billing_period, pools.provider, pools.cluster_id, pools.allocation_rule,
    pools.row_kind, pools.billing_currency
