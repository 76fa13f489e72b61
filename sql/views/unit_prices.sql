-- unit_prices: what a vCPU-hour or GiB-hour of each node cost on each day.
--
-- reads    charges
-- returns  billing_period, provider, source, cluster_id, node_pool, node_name, resource_id,
--          charge_date, resource_kind, billing_currency,
--          price (billing currency per quantity_unit), quantity_unit
-- promise  price times capacity is the node's cost; NULL where the capacity is unknown or 0
SELECT
    billing_period,
    provider,
    source,
    cluster_id,
    node_pool,
    node_name,
    resource_id,
    charge_period_start AS charge_date,
    resource_kind,
    billing_currency,
    (sum(cost) / nullif(sum(capacity_quantity), 0))::DECIMAL(38, 12) AS price,
    max(quantity_unit) AS quantity_unit
FROM charges
WHERE is_node_row(row_kind, resource_kind, split_source)
GROUP BY
    billing_period, provider, source, cluster_id, node_pool, node_name, resource_id, charge_date,
    resource_kind, billing_currency
