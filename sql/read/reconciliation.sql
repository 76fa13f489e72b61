-- reconciliation: the bridges of the month, summed over nodes.
--
-- reads    reconciliation
-- returns  provider, cluster_id, resource_kind, provider_class, billing_currency, position,
--          name, amount
SELECT
    provider,
    cluster_id,
    resource_kind,
    provider_class,
    billing_currency,
    position,
    name,
    sum(amount) AS amount
FROM reconciliation
GROUP BY ALL
ORDER BY ALL
