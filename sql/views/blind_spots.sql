-- blind_spots: the row kinds of a cluster that nobody can know, because nobody split its nodes.
--
-- reads    normalised
-- returns  provider, cluster_id, kinds (list of row kinds); clusters where all is known are not
--          in it
-- promise  missing is not zero: what stands here is NULL in every summary, never 0. A cluster
--          that was split for a part of the month has rows of the kind, so the kind is known.
WITH
unsplit AS (
    SELECT DISTINCT
        provider,
        cluster_id,
        unnest(['workload', 'idle', 'headroom']) AS row_kind
    FROM normalised
    WHERE row_kind = 'unattributed' AND reason = 'no_split_source'
)

SELECT
    provider,
    cluster_id,
    list(row_kind ORDER BY row_kind ASC) AS kinds
FROM unsplit
ANTI JOIN normalised USING (provider, cluster_id, row_kind)
GROUP BY provider, cluster_id
