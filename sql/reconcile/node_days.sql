-- node_days: what each node cost on each day by resource kind, what it had, what pods took of it.
--
-- reads    normalised
-- returns  provider, cluster_id, node_name, resource_id, charge_date, resource_kind,
--          billing_currency, split_source (of the pods), and
--          node_cost        all node rows
--          capacity         quantity that was billed; NULL where nobody knows it
--          empty_capacity   the part of it that stood on an empty node
--          charged, requested   of the pods the provider put idle on; NULL where there is none,
--                           requested also as soon as one is unknown
--          pod_charged      of all pods; NULL as soon as one is unknown
--          provider_idle    idle the provider put on pods or shows on rows of its own
--          idle, carved     what is left as idle; node reserve and headroom that we took from it
--          own_reserve      node reserve the provider itself sets apart
--          empty_idle       the part of idle that is left of empty nodes
--          empty_above, rest_above   idle rows above 0, of empty nodes and all others
-- promise  node cost of known nodes only: no disk, fee or pod that is billed directly. Amounts
--          are amortised where the source has that view, as the provider's own idle is; in
--          a month run in the other view they are in no sum.
WITH
node_rows AS (
    SELECT
        *,
        coalesce(effective_cost, billed_cost) AS cost,
        row_kind = 'workload' OR coalesce(reason IN ('placeholder_pods', 'system_namespace'), FALSE)
            AS is_pod,
        is_pod AND provider_idle_cost IS NOT NULL AS takes_part,
        coalesce(reason IN ('node_reserve', 'policy'), FALSE) AS is_kept,
        row_kind = 'idle' AND coalesce(reason = 'empty_node', FALSE) AS is_empty
    FROM normalised
    WHERE
        is_node_row(row_kind, resource_kind, split_source)
        AND resource_id IS NOT NULL
        AND node_name IS NOT NULL
        AND cost IS NOT NULL
)

SELECT
    provider,
    cluster_id,
    node_name,
    resource_id,
    charge_period_start AS charge_date,
    resource_kind,
    billing_currency,
    max(split_source) FILTER (WHERE is_pod) AS split_source,
    sum(cost) AS node_cost,
    sum(capacity_quantity) AS capacity,
    sum(capacity_quantity) FILTER (WHERE is_empty) AS empty_capacity,
    sum(charged_quantity) FILTER (WHERE takes_part) AS charged,
    CASE
        WHEN count(*) FILTER (WHERE takes_part AND coalesce(requested_quantity < 0, TRUE)) = 0
            THEN sum(requested_quantity) FILTER (WHERE takes_part)
    END AS requested,
    CASE
        WHEN count(charged_quantity) FILTER (WHERE is_pod) = count(*) FILTER (WHERE is_pod)
            THEN coalesce(sum(charged_quantity) FILTER (WHERE is_pod), 0)
    END AS pod_charged,
    coalesce(sum(provider_idle_cost), 0) AS provider_idle,
    coalesce(sum(cost) FILTER (WHERE row_kind = 'idle'), 0) AS idle,
    coalesce(sum(cost) FILTER (WHERE is_kept AND provider_class IS NULL), 0) AS carved,
    coalesce(sum(cost) FILTER (WHERE is_kept AND provider_class IS NOT NULL), 0) AS own_reserve,
    coalesce(sum(cost) FILTER (WHERE is_empty), 0) AS empty_idle,
    coalesce(sum(cost) FILTER (WHERE is_empty AND cost > 0), 0) AS empty_above,
    coalesce(sum(cost) FILTER (WHERE row_kind = 'idle' AND NOT is_empty AND cost > 0), 0)
        AS rest_above
FROM node_rows
GROUP BY
    provider, cluster_id, node_name, resource_id, charge_date, resource_kind, billing_currency
