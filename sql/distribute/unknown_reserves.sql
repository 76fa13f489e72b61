-- unknown_reserves: idle that still holds what its node reserves for itself.
--
-- reads    charges
-- returns  one row per day, cluster, node, resource kind and currency whose allocatable capacity
--          nobody knows: row_kind (idle), provider, cluster_id, charge_date, resource_kind,
--          billing_currency, node (as in daily_costs), resource_id, idle
-- promise  none where the provider sets the reserve of the cluster apart itself
WITH
set_apart AS (
    SELECT DISTINCT
        provider,
        cluster_id
    FROM charges
    WHERE reason = 'node_reserve' AND provider_class IS NOT NULL
)

SELECT
    charges.row_kind,
    charges.provider,
    charges.cluster_id,
    charges.charge_period_start AS charge_date,
    charges.resource_kind,
    charges.billing_currency,
    CASE WHEN charges.node_name IS NOT NULL THEN charges.resource_id END AS node,
    max(charges.resource_id) AS resource_id,
    sum(charges.cost) AS idle
FROM charges
ANTI JOIN set_apart USING (provider, cluster_id)
WHERE
    charges.row_kind = 'idle'
    AND charges.resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
GROUP BY ALL
HAVING count(charges.allocatable_quantity) = 0
