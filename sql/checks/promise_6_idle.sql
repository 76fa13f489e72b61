-- promise_6_idle: no usage-based cost is idle, and no node reserve where the reserve is known.
--
-- reads    charges, settings
-- returns  findings columns; one error per cluster and resource kind with usage-based idle, and
--          one per node, day and resource kind whose known reserve was left in idle
-- how      due: the reserve at the node's price, but never more than stood idle before reserve and
--          headroom were taken out (finding reserve_short tells the rest); 1e-9 is rounding.
--          Where the provider sets the reserve apart, its own price decides.
WITH
node_rows AS (
    SELECT
        *,
        coalesce(effective_cost, billed_cost) AS amount,
        coalesce(reason = 'node_reserve', FALSE) AS is_reserve,
        row_kind = 'idle' OR (is_reserve AND provider_class IS NULL)
        OR coalesce(reason = 'policy', FALSE) AS stood_idle
    FROM charges
    WHERE is_node_row(row_kind, resource_kind, split_source)
),

nodes AS (
    SELECT
        provider,
        source,
        cluster_id,
        concat_ws(', ', coalesce(node_name, resource_id), charge_period_start, resource_kind)
            AS place,
        sum(allocatable_quantity) AS allocatable,
        sum(capacity_quantity) AS capacity,
        sum(amount) FILTER (WHERE stood_idle) AS most,
        coalesce(sum(amount) FILTER (WHERE is_reserve), 0) AS taken,
        least(greatest(most, 0), sum(amount) * (1 - allocatable / capacity)) AS due,
        coalesce(bool_or(is_reserve AND provider_class IS NOT NULL), FALSE) AS is_theirs
    FROM node_rows
    GROUP BY
        provider, source, cluster_id, node_name, resource_id, charge_period_start, resource_kind,
        billing_currency
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
        place,
        'node reserve apart from idle: ' || capacity - allocatable || ' of ' || capacity
            AS expected,
        taken || ' apart, ' || most || ' stood idle' AS actual
    FROM nodes
    WHERE
        capacity > 0 AND allocatable IS NOT NULL AND NOT is_theirs
        AND due - taken > 0.000000001
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
