-- idle: what stood idle on each node and day, why, and how it was bought.
--
-- reads    charges
-- returns  provider, billing_currency, cluster_id, node_pool, node_name, resource_kind,
--          charge_date, reason, cause, pricing_category, amount
-- promise  the amounts add up to the idle of the month
SELECT
    provider,
    billing_currency,
    cluster_id,
    node_pool,
    node_name,
    resource_kind,
    charge_period_start AS charge_date,
    reason,
    cause,
    pricing_category,
    sum(cost) AS amount
FROM charges
WHERE row_kind = 'idle'
GROUP BY ALL
ORDER BY ALL
