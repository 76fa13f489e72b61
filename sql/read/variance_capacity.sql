-- variance_capacity: what the nodes of each cluster cost, their capacity and their idle.
--
-- reads    charges
-- returns  provider, billing_currency, cluster_id, resource_kind, idle (its cost),
--          node_cost and capacity (both of the node days whose capacity is known; NULL without)
-- promise  no corrections. node_cost / capacity is the price of a unit on the cluster's nodes
WITH
nodes AS (
    SELECT
        provider,
        billing_currency,
        cluster_id,
        resource_kind,
        resource_id,
        charge_period_start,
        sum(cost) FILTER (WHERE row_kind = 'idle') AS idle,
        sum(cost) FILTER (
            WHERE
            resource_id IS NOT NULL
            AND node_name IS NOT NULL
            AND resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
            AND (
                row_kind = 'idle'
                OR split_source IS NOT NULL
                OR reason IN ('node_reserve', 'policy')
            )
        ) AS node_cost,
        nullif(sum(capacity_quantity), 0) AS capacity
    FROM charges
    WHERE
        row_kind IN ('workload', 'idle', 'headroom', 'system_overhead')
        AND charge_class IS NULL
        AND cost IS NOT NULL
    GROUP BY ALL
)

SELECT
    provider,
    billing_currency,
    cluster_id,
    resource_kind,
    coalesce(sum(idle), 0) AS idle,
    sum(node_cost) FILTER (WHERE capacity IS NOT NULL) AS node_cost,
    sum(capacity) FILTER (WHERE node_cost IS NOT NULL) AS capacity
FROM nodes
GROUP BY provider, billing_currency, cluster_id, resource_kind
