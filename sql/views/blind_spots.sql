-- blind_spots: the row kinds of a cluster that nobody can know, because nobody split its nodes.
--
-- reads    normalised
-- returns  provider, cluster_id, kinds (list of row kinds); clusters where all is known are not
--          in it
-- promise  missing is not zero: what stands here is NULL in every summary, never 0. A cluster
--          whose nodes were split at any time of the month is not in it: all its kinds are known.
--          Pods that are billed directly have no node to be blind about.
WITH
split AS (
    SELECT DISTINCT
        provider,
        cluster_id
    FROM normalised
    WHERE split_source IS NOT NULL
),

unsplit AS (
    SELECT DISTINCT
        normalised.provider,
        normalised.cluster_id,
        unnest(['workload', 'idle', 'headroom']) AS row_kind
    FROM normalised
    ANTI JOIN split USING (provider, cluster_id)
    WHERE
        normalised.row_kind = 'unattributed'
        AND normalised.resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
        AND normalised.resource_id IS NOT NULL
)

SELECT
    provider,
    cluster_id,
    list(row_kind ORDER BY row_kind ASC) AS kinds
FROM unsplit
ANTI JOIN normalised USING (provider, cluster_id, row_kind)
GROUP BY provider, cluster_id
