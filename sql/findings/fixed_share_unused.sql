-- fixed_share_unused: a team has a share and takes no part, so that the others carry it.
--
-- reads    pools, entitled, rule_weights, settings
-- returns  findings columns; one warning per rule, cluster, team and currency
SELECT
    settings.billing_period,
    'fixed_share_unused' AS rule,
    'warning' AS severity,
    pools.provider,
    pools.cluster_id,
    'allocation rule ' || pools.allocation_rule || ', team ' || rule_weights.claimant AS "where",
    'workload where its share is due' AS expected,
    concat(
        'pools without: ', count(*), ', ', min(pools.charge_date), ' to ', max(pools.charge_date),
        '; its share is left to the others, or to the operator where there are none'
    ) AS actual,
    sum(pools.pool_amount)::VARCHAR AS difference,
    'the difference is all that these pools hold; correct the name of the team or the shares, '
    || 'limit the rule by cluster to where its teams are, and end it with valid_to on the day a '
    || 'team leaves' AS hint
FROM pools
CROSS JOIN settings
INNER JOIN rule_weights USING (position, provider, cluster_id, charge_date)
LEFT JOIN entitled
    ON pools.pool = entitled.pool AND rule_weights.claimant = entitled.claimant
WHERE pools.rule_method = 'fixed' AND entitled.pool IS NULL
GROUP BY
    settings.billing_period, pools.provider, pools.cluster_id, pools.allocation_rule,
    rule_weights.claimant, pools.billing_currency
