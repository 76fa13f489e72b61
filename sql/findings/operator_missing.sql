-- operator_missing: a cluster has cost for its operator, and no operator is configured.
--
-- reads    postings, clusters, settings
-- returns  findings columns; one warning per cluster and currency
SELECT
    settings.billing_period,
    'operator_missing' AS rule,
    'warning' AS severity,
    postings.provider,
    postings.cluster_id,
    coalesce(any_value(clusters.cluster_name), postings.cluster_id) AS "where",
    'an operator for what is not distributed' AS expected,
    sum(postings.amount) || ' ' || postings.billing_currency || ' without a team' AS actual,
    'add [[operator]] with team and cluster to leerlauf.toml' AS hint
FROM postings
CROSS JOIN settings
INNER JOIN clusters USING (provider, cluster_id)
WHERE
    clusters.operator IS NULL
    AND postings.team IS NULL
    AND postings.row_kind NOT IN ('workload', 'unattributed')
GROUP BY
    settings.billing_period, postings.provider, postings.cluster_id, postings.billing_currency
