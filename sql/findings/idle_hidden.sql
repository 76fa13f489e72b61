-- idle_hidden: nodes have capacity that no pod was charged for, and yet no idle.
--
-- reads    node_days, charges, settings
-- returns  findings columns; one warning per cluster, resource kind and currency
-- how      A node and day counts where pods were charged for less than 90 % of its capacity and
--          less than 1 % of its cost is shown as idle, reserve or headroom: a tenth of a node
--          is more than rounding of sizes and hours makes, and no split that shows idle shows
--          so little of it. A cluster counts from 1 % of its node cost on, because a single odd
--          node is no way of splitting. Not where the capacity or a charged quantity is unknown,
--          nor on days on which the bill and its split differ: there the rest is known to be
--          unattributed.
WITH
gaps AS (
    SELECT DISTINCT
        resource_id,
        charge_period_start AS charge_date
    FROM charges
    WHERE row_kind = 'unattributed' AND reason IN ('split_gap', 'no_split_source')
),

judged AS (
    SELECT
        node_days.*,
        node_days.idle + node_days.carved + node_days.own_reserve AS shown,
        coalesce(
            node_days.pod_charged < 0.9 * node_days.capacity
            AND node_days.node_cost > 0
            AND shown < node_days.node_cost / 100,
            FALSE
        ) AS is_hidden
    FROM node_days
    ANTI JOIN gaps USING (resource_id, charge_date)
),

sums AS (
    SELECT
        provider,
        cluster_id,
        resource_kind,
        billing_currency,
        sum(node_cost) AS all_cost,
        count(DISTINCT resource_id) FILTER (WHERE is_hidden) AS nodes,
        sum(shown) FILTER (WHERE is_hidden) AS shown,
        sum(node_cost) FILTER (WHERE is_hidden) AS hidden_cost,
        sum(pod_charged) FILTER (WHERE is_hidden)
        / sum(capacity) FILTER (WHERE is_hidden) AS charged_part,
        (hidden_cost * (1 - charged_part))::DECIMAL(38, 2) AS missing
    FROM judged
    GROUP BY provider, cluster_id, resource_kind, billing_currency
)

SELECT
    settings.billing_period,
    'idle_hidden' AS rule,
    'warning' AS severity,
    sums.provider,
    sums.cluster_id,
    sums.resource_kind || ', nodes: ' || sums.nodes AS "where",
    'idle of about ' || sums.missing || ' ' || sums.billing_currency
    || format(': pods were charged for {:.1f} % of the capacity', 100 * sums.charged_part)
        AS expected,
    sums.shown::DECIMAL(38, 2) || ' ' || sums.billing_currency AS actual,
    (sums.shown - sums.missing)::DECIMAL(38, 2)::VARCHAR AS difference,
    'idle was spread over workloads before it came here: take the provider''s own export, in '
    || 'which it stands in a column or in rows of its own' AS hint
FROM sums
CROSS JOIN settings
WHERE sums.hidden_cost > sums.all_cost / 100
