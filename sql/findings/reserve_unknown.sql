-- reserve_unknown: idle of a cluster still holds what its nodes reserve for themselves.
--
-- reads    charges, settings
-- returns  findings columns; one info per cluster with idle nodes whose reserve is unknown; none
--          where the provider sets the reserve apart itself
WITH
reserved AS (
    SELECT DISTINCT
        provider,
        cluster_id
    FROM charges
    WHERE reason = 'node_reserve' AND provider_class IS NOT NULL
)

SELECT
    settings.billing_period,
    'reserve_unknown' AS rule,
    'info' AS severity,
    charges.provider,
    charges.cluster_id,
    count(DISTINCT charges.resource_id) || ' nodes' AS "where",
    'allocatable capacity of every node' AS expected,
    'unknown: what kubelet and system reserve stands in idle' AS actual,
    'kubectl get nodes -o json shows it: status.capacity less status.allocatable' AS hint
FROM charges
CROSS JOIN settings
ANTI JOIN reserved USING (provider, cluster_id)
WHERE
    charges.row_kind = 'idle'
    AND charges.resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
    AND charges.allocatable_quantity IS NULL
GROUP BY settings.billing_period, charges.provider, charges.cluster_id
