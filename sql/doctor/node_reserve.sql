-- node_reserve: whether it is known what a cluster's nodes reserve for themselves.
--
-- reads    examined
-- returns  columns of a check and the step that mends it; one row for each cluster with idle nodes
WITH
nodes AS (
    SELECT
        provider,
        source,
        billing_currency,
        cluster_id,
        row_kind,
        reserve_known OR coalesce(reason = 'node_reserve', FALSE) AS is_known
    FROM examined
    WHERE resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
)

SELECT
    provider,
    source,
    billing_currency,
    cluster_id,
    if(bool_or(is_known), 'ok', 'warning') AS status,
    if(bool_or(is_known), NULL, 'node_reserve') AS step,
    if(
        bool_or(is_known),
        'known: it stands apart from idle',
        'unknown: what kubelet and system reserve stands in idle'
    ) AS actual,
    'known for every node' AS expected
FROM nodes
GROUP BY provider, source, billing_currency, cluster_id
HAVING bool_or(row_kind = 'idle')
ORDER BY provider, source, cluster_id, billing_currency
