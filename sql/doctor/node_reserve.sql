-- node_reserve: whether it is known what a cluster's nodes reserve for themselves.
--
-- reads    examined
-- returns  columns of a check and the step that mends it; one row for each cluster with idle nodes
-- how      known is a node whose allocatable capacity is known for each of its resources and days,
--          and every node where the provider sets the reserve apart
WITH
resources AS (
    SELECT
        provider,
        source,
        billing_currency,
        cluster_id,
        node,
        charge_date,
        resource_kind,
        row_kind = 'idle' AS is_idle,
        bool_or(reserve_known) AS is_known
    FROM examined
    WHERE resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
    GROUP BY ALL
),

nodes AS (
    SELECT
        provider,
        source,
        billing_currency,
        cluster_id,
        node,
        is_idle,
        bool_and(is_known) AS all_known,
        bool_or(is_known AND NOT is_idle) AS set_apart
    FROM resources
    GROUP BY ALL
),

clusters AS (
    SELECT
        provider,
        source,
        billing_currency,
        cluster_id,
        count_if(is_idle) AS idle_nodes,
        if(bool_or(set_apart), 0, count_if(is_idle AND NOT all_known)) AS unknown_nodes
    FROM nodes
    GROUP BY provider, source, billing_currency, cluster_id
)

SELECT
    provider,
    source,
    billing_currency,
    cluster_id,
    if(unknown_nodes = 0, 'ok', 'warning') AS status,
    if(unknown_nodes = 0, NULL, 'node_reserve') AS step,
    CASE
        WHEN unknown_nodes = 0 THEN 'known: it stands apart from idle'
        WHEN unknown_nodes = idle_nodes
            THEN 'unknown: what kubelet and system reserve stands in idle'
        ELSE
            'unknown for ' || unknown_nodes || ' of ' || idle_nodes
            || ' nodes: there it stands in idle'
    END AS actual,
    'known for every node' AS expected
FROM clusters
WHERE idle_nodes > 0
ORDER BY provider, source, cluster_id, billing_currency
