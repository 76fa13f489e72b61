-- reserve_unknown: idle of a cluster still holds what its nodes reserve for themselves.
--
-- reads    charges, settings
-- returns  findings columns; one info per cluster with idle nodes whose reserve is unknown
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
WHERE
    charges.row_kind = 'idle'
    AND charges.resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
    AND charges.allocatable_quantity IS NULL
GROUP BY settings.billing_period, charges.provider, charges.cluster_id
