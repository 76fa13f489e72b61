-- reconciliation: from the idle the provider shows to the idle we report.
--
-- reads    bridges, settings
-- returns  the columns of table reconciliation (transforms/schema.py); one bridge per cluster,
--          node, resource kind, provider's word and currency, nine lines each, also where they
--          are 0
-- promise  in each bridge the lines before `idle` add up to `idle`, exactly. What the named
--          steps leave over is `rebased`, and check bridge_closes holds it down to dust.
--          split_gap is in no line.
WITH
named AS (
    SELECT
        *,
        provider_idle - node_reserve - policy_headroom + usage_above_request - over_allocation
        + empty_nodes - not_time_based AS steps
    FROM bridges
),

lines AS (
    SELECT
        *,
        unnest(range(1, 10)) AS position,
        unnest([
            'provider_idle', 'node_reserve', 'policy_headroom', 'usage_above_request',
            'over_allocation', 'empty_nodes', 'not_time_based', 'rebased', 'idle'
        ]) AS name,
        unnest([
            provider_idle, -node_reserve, -policy_headroom, usage_above_request,
            -over_allocation, empty_nodes, -not_time_based, idle - steps, idle
        ]) AS amount
    FROM named
)

SELECT
    settings.billing_period,
    lines.provider,
    lines.cluster_id,
    lines.node_name,
    lines.resource_kind,
    lines.provider_class,
    lines.position,
    lines.name,
    lines.amount,
    lines.billing_currency
FROM lines
CROSS JOIN settings
