-- node_steps: what charging by request moves on each node, and what was taken from empty nodes.
--
-- reads    node_days, settings
-- returns  provider, cluster_id, node_name, resource_kind, billing_currency, split_source,
--          usage_above_request   what pods were charged for beyond their requests, at the price
--                                of the node; 0 on basis provider
--          over_allocation       what they were charged for at that price, less what the provider
--                                charged: more than 0 where pods ask for more than there is; 0 on
--                                basis provider
--          empty_taken           the part of node reserve and headroom that was empty nodes' idle
-- promise  an unknown capacity or request moves nothing: such nodes keep the provider's split, all
--          their resources alike
-- how      Price = node cost / capacity of the node and day, in integers; each product is rounded
--          once. What the provider split is the node's cost less its idle and its empty nodes.
--          Reserve and headroom are taken from idle rows above 0 in proportion, so what is left
--          of those says whose the taken part was, to a thousand quanta. Where next to nothing
--          is left, empty nodes had what the provider's idle does not explain, or on basis
--          request what their capacity cost.
WITH
repriced AS (
    SELECT
        node_days.*,
        bool_and(node_days.charged IS NULL OR coalesce(
            node_days.capacity > 0 AND node_days.requested IS NOT NULL, FALSE
        )) OVER (
            PARTITION BY
                node_days.provider, node_days.resource_id, node_days.charge_date,
                node_days.billing_currency
        ) AS is_known,
        settings.charge_basis = 'request' AND is_known AND node_days.capacity > 0 AS is_repriced,
        CASE WHEN is_repriced THEN quanta(node_days.node_cost) END AS cost_quanta,
        CASE WHEN is_repriced THEN quanta(node_days.capacity) END AS units
    FROM node_days
    CROSS JOIN settings
),

taken AS (
    SELECT
        *,
        money(half_even(quanta(charged) * cost_quanta, units)) AS charged_cost,
        money(half_even(quanta(requested) * cost_quanta, units)) AS requested_cost,
        CASE
            WHEN carved <= 0 THEN 0
            WHEN 1000 * (empty_above + rest_above) >= carved
                THEN money(half_even(
                    quanta(carved) * quanta(empty_above), quanta(empty_above + rest_above)
                ))
            WHEN is_repriced
                THEN least(
                    coalesce(money(half_even(quanta(empty_capacity) * cost_quanta, units)), 0),
                    carved
                )
            ELSE greatest(least(idle + carved - provider_idle, carved), 0)
        END AS empty_taken
    FROM repriced
),

priced AS (
    SELECT
        *,
        node_cost - empty_idle - empty_taken - provider_idle AS split_cost
    FROM taken
)

SELECT
    provider,
    cluster_id,
    node_name,
    resource_kind,
    billing_currency,
    split_source,
    coalesce(sum(charged_cost - requested_cost), 0) AS usage_above_request,
    coalesce(sum(charged_cost - split_cost), 0) AS over_allocation,
    sum(empty_taken) AS empty_taken
FROM priced
GROUP BY provider, cluster_id, node_name, resource_kind, billing_currency, split_source
