-- named_clusters: the clusters of a month, as rules name them.
--
-- reads    normalised
-- returns  provider, cluster_id, cluster_name (NULL where nobody names it), namespaces (a list of
--          those with workload); one row a cluster
SELECT
    provider,
    cluster_id,
    max(cluster_name) AS cluster_name,
    coalesce(
        list(DISTINCT namespace) FILTER (WHERE row_kind = 'workload' AND namespace IS NOT NULL), []
    ) AS namespaces
FROM normalised
WHERE row_kind <> 'outside' AND cluster_id IS NOT NULL
GROUP BY provider, cluster_id
ORDER BY provider, cluster_id
