-- metric_not_participant: a metric has a value of a team that takes no part.
--
-- reads    pools, entitled, rule_weights, allocation_rules, settings
-- returns  findings columns; one warning per rule, cluster and team (NULL: workload without one);
--          none about teams that the rule itself leaves out
WITH
present AS (
    SELECT DISTINCT
        pools.position,
        pools.provider,
        pools.cluster_id,
        pools.charge_date,
        entitled.claimant
    FROM pools
    INNER JOIN entitled USING (pool)
    WHERE pools.rule_method = 'metric'
)

SELECT
    settings.billing_period,
    'metric_not_participant' AS rule,
    'warning' AS severity,
    rule_weights.provider,
    rule_weights.cluster_id,
    'allocation rule ' || allocation_rules.id || ', '
    || coalesce('team ' || rule_weights.claimant, 'workload without a team') AS "where",
    'workload on each day with a value' AS expected,
    concat(
        'days without: ', count(*), ', ', min(rule_weights.charge_date), ' to ',
        max(rule_weights.charge_date), '; its value counts for nothing there'
    ) AS actual,
    'write teams in the metric file as the statements name them' AS hint
FROM rule_weights
CROSS JOIN settings
INNER JOIN allocation_rules USING (position)
LEFT JOIN present
    ON
        rule_weights.position = present.position
        AND rule_weights.provider = present.provider
        AND rule_weights.cluster_id = present.cluster_id
        AND rule_weights.charge_date = present.charge_date
        AND rule_weights.claimant IS NOT DISTINCT FROM present.claimant
WHERE
    allocation_rules.method = 'metric'
    AND present.position IS NULL
    AND rule_weights.rule_weight > 0
    AND takes_part(rule_weights.claimant, allocation_rules.teams, allocation_rules.excepted)
GROUP BY
    settings.billing_period, allocation_rules.id, rule_weights.provider, rule_weights.cluster_id,
    rule_weights.claimant
