-- promise_6_idle: no usage-based cost is idle, and no node reserve where the reserve is known.
--
-- reads    charges, settings
-- returns  findings columns; one error per cluster and resource kind with usage-based idle, and
--          one per node and day whose known reserve was left in idle
WITH
nodes AS (
    SELECT
        provider,
        source,
        cluster_id,
        node_name,
        resource_id,
        resource_kind,
        charge_period_start,
        sum(capacity_quantity) FILTER (WHERE row_kind = 'idle')
        - sum(allocatable_quantity) FILTER (WHERE row_kind = 'idle') AS reserve,
        sum(cost) FILTER (WHERE row_kind = 'idle') AS idle,
        count(*) FILTER (WHERE reason = 'node_reserve') AS reserve_rows
    FROM charges
    WHERE row_kind IN ('idle', 'system_overhead')
    GROUP BY ALL
),

offending AS (
    SELECT
        provider,
        source,
        cluster_id,
        resource_kind AS place,
        'no idle of this resource kind: it is billed by use' AS expected,
        count(*) || ' idle rows' AS actual
    FROM charges
    WHERE row_kind = 'idle' AND resource_kind NOT IN ('cpu', 'memory', 'gpu', 'compute', 'storage')
    GROUP BY provider, source, cluster_id, resource_kind
    UNION ALL
    SELECT
        provider,
        source,
        cluster_id,
        concat_ws(', ', coalesce(node_name, resource_id), charge_period_start, resource_kind)
            AS place,
        'a system_overhead/node_reserve row: ' || reserve || ' is reserved' AS expected,
        'idle of ' || idle || ' and no such row' AS actual
    FROM nodes
    WHERE reserve > 0 AND idle > 0 AND reserve_rows = 0
)

SELECT
    settings.billing_period,
    'promise_6_idle' AS rule,
    'error' AS severity,
    offending.provider,
    offending.source,
    offending.cluster_id,
    offending.place AS "where",
    offending.expected,
    offending.actual,
    'idle is overstated; report this as a defect' AS hint
FROM offending
CROSS JOIN settings
