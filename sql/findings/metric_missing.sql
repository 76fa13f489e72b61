-- metric_missing: nobody who takes part in a pool has a value of its metric.
--
-- reads    assignments, pools, settings
-- returns  findings columns; one warning per rule, cluster, row kind, fallback and currency
SELECT
    settings.billing_period,
    'metric_missing' AS rule,
    'warning' AS severity,
    pools.provider,
    pools.cluster_id,
    'allocation rule ' || pools.allocation_rule || ', ' || pools.row_kind AS "where",
    'a value above 0 of somebody who takes part' AS expected,
    concat(
        'days without: ', count(DISTINCT pools.charge_date), ', ', min(pools.charge_date), ' to ',
        max(pools.charge_date), '; distributed by fallback ', assignments.weighed_by
    ) AS actual,
    sum(pools.pool_amount)::VARCHAR AS difference,
    'complete the metric file: its cluster is the name or the id of a cluster, its team one that '
    || 'has workload there on that day' AS hint
FROM assignments
CROSS JOIN settings
INNER JOIN pools USING (pool)
WHERE
    assignments.variant = 'rules'
    AND assignments.method = 'metric'
    AND assignments.weighed_by <> 'metric'
GROUP BY
    settings.billing_period, pools.provider, pools.cluster_id, pools.allocation_rule,
    pools.row_kind, assignments.weighed_by, pools.billing_currency
