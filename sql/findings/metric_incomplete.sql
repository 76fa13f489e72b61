-- metric_incomplete: somebody takes part and has no value of a metric that others have.
--
-- reads    assignments, pools, entitled, settings
-- returns  findings columns; one warning per rule, cluster and team (NULL: workload without one)
SELECT
    settings.billing_period,
    'metric_incomplete' AS rule,
    'warning' AS severity,
    pools.provider,
    pools.cluster_id,
    'allocation rule ' || pools.allocation_rule || ', '
    || coalesce('team ' || entitled.claimant, 'workload without a team') AS "where",
    'a value on each day with workload' AS expected,
    concat(
        'days without: ', count(DISTINCT pools.charge_date), ', ', min(pools.charge_date), ' to ',
        max(pools.charge_date), '; it bears nothing there'
    ) AS actual,
    'add the value to the metric file, 0 where it is 0; or leave the team out with except' AS hint
FROM assignments
CROSS JOIN settings
INNER JOIN pools USING (pool)
INNER JOIN entitled USING (pool)
WHERE
    assignments.variant = 'rules'
    AND assignments.weighed_by = 'metric'
    AND entitled.rule_weight IS NULL
GROUP BY
    settings.billing_period, pools.provider, pools.cluster_id, pools.allocation_rule,
    entitled.claimant
