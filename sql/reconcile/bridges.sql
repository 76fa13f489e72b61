-- bridges: the named steps from the idle the provider shows to the idle we report.
--
-- reads    charges, node_steps
-- returns  one row per cluster, node, resource kind, provider's word and currency:
--          provider, cluster_id, node_name, resource_kind, billing_currency, provider_class,
--          provider_idle, node_reserve, policy_headroom, usage_above_request, over_allocation,
--          empty_nodes, not_time_based, idle
-- how      provider_idle stands on the rows the provider calls idle, or on the workloads it
--          charges idle to. What it calls idle and is not time-based capacity is `shared` here.
--          Reserve that the provider itself sets apart has a word of the provider's; it was
--          never in the provider's idle, so it is no step of the bridge. empty_nodes is before
--          reserve and headroom were taken from them, because these are steps as a whole. Rows on
--          which the provider has no word for its idle belong to the bridge of the word of the
--          same split, else of the cluster.
WITH
parts AS (
    SELECT
        provider,
        cluster_id,
        node_name,
        resource_kind,
        billing_currency,
        split_source,
        CASE WHEN row_kind IN ('idle', 'shared') THEN provider_class END AS own_word,
        sum(provider_idle_cost) AS provider_idle,
        sum(cost) FILTER (WHERE reason = 'node_reserve') AS node_reserve,
        sum(cost) FILTER (WHERE reason = 'policy') AS policy_headroom,
        sum(cost) FILTER (WHERE reason = 'empty_node') AS empty_nodes,
        sum(provider_idle_cost) FILTER (WHERE row_kind = 'shared') AS not_time_based,
        sum(cost) FILTER (WHERE row_kind = 'idle') AS idle
    FROM charges
    WHERE
        row_kind = 'idle'
        OR provider_idle_cost IS NOT NULL
        OR (reason IN ('node_reserve', 'policy') AND provider_class IS NULL)
    GROUP BY
        provider, cluster_id, node_name, resource_kind, billing_currency, split_source, own_word
    UNION ALL BY NAME
    SELECT
        * EXCLUDE (empty_taken),
        empty_taken AS empty_nodes
    FROM node_steps
    WHERE usage_above_request <> 0 OR over_allocation <> 0 OR empty_taken <> 0
),

worded AS (
    SELECT
        *,
        coalesce(
            own_word,
            max(own_word) OVER (PARTITION BY provider, cluster_id, resource_kind, split_source),
            max(own_word) OVER (PARTITION BY provider, cluster_id, resource_kind)
        ) AS word
    FROM parts
)

SELECT
    provider,
    cluster_id,
    node_name,
    resource_kind,
    billing_currency,
    word AS provider_class,
    coalesce(sum(provider_idle), 0) AS provider_idle,
    coalesce(sum(node_reserve), 0) AS node_reserve,
    coalesce(sum(policy_headroom), 0) AS policy_headroom,
    coalesce(sum(usage_above_request), 0) AS usage_above_request,
    coalesce(sum(over_allocation), 0) AS over_allocation,
    coalesce(sum(empty_nodes), 0) AS empty_nodes,
    coalesce(sum(not_time_based), 0) AS not_time_based,
    coalesce(sum(idle), 0) AS idle
FROM worded
GROUP BY provider, cluster_id, node_name, resource_kind, billing_currency, word
