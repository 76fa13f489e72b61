-- reconciliation: from the idle the provider shows to the idle we report.
--
-- reads    charges, settings
-- returns  the columns of table reconciliation (transforms/schema.py); one bridge per cluster,
--          node, resource kind, provider's word and currency, nine lines each, also where they
--          are 0
-- promise  in each bridge the lines before `idle` add up to `idle`, exactly. What the named
--          steps leave over is `rebased`, and check bridge_closes holds it down to dust.
--          split_gap is in no line.
-- how      provider_idle stands on the rows the provider calls idle, or on the workloads it
--          charges idle to. What it calls idle and is not time-based capacity is `shared` here.
--          Reserve that the provider itself sets apart has a word of the provider's; it was
--          never in the provider's idle, so it is no step of the bridge. Rows on which the
--          provider has no word for its idle belong to the bridge of the cluster's word.
WITH
worded AS (
    SELECT
        *,
        CASE WHEN row_kind IN ('idle', 'shared') THEN provider_class END AS own_word,
        coalesce(
            own_word, max(own_word) OVER (PARTITION BY provider, cluster_id, resource_kind)
        ) AS word
    FROM charges
    WHERE
        row_kind = 'idle'
        OR provider_idle_cost IS NOT NULL
        OR (reason IN ('node_reserve', 'policy') AND provider_class IS NULL)
),

bridges AS (
    SELECT
        provider,
        cluster_id,
        node_name,
        resource_kind,
        billing_currency,
        word AS provider_class,
        coalesce(sum(provider_idle_cost), 0) AS provider_idle,
        coalesce(sum(cost) FILTER (WHERE reason = 'node_reserve'), 0) AS node_reserve,
        coalesce(sum(cost) FILTER (WHERE reason = 'policy'), 0) AS policy_headroom,
        coalesce(sum(cost) FILTER (WHERE reason = 'empty_node'), 0) AS empty_nodes,
        coalesce(sum(provider_idle_cost) FILTER (WHERE row_kind = 'shared'), 0) AS not_time_based,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'idle'), 0) AS idle
    FROM worded
    GROUP BY provider, cluster_id, node_name, resource_kind, billing_currency, word
),

named AS (
    SELECT
        *,
        provider_idle - node_reserve - policy_headroom + empty_nodes - not_time_based AS steps
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
            provider_idle, -node_reserve, -policy_headroom, 0, 0, empty_nodes, -not_time_based,
            idle - steps, idle
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
