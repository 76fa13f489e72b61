-- clusters: the bill of every cluster and the seven kinds that make it, before distribution.
--
-- reads    charges, blind_spots, idle_ratio
-- returns  provider, cluster_id, cluster_name, billing_currency, bill, idle_ratio, workload,
--          idle, headroom, system_overhead, cluster_fee, shared, unattributed
-- promise  the kinds add up to the bill; one that cannot be known is NULL
WITH
bills AS (
    SELECT
        provider,
        cluster_id,
        max(cluster_name) AS cluster_name,
        billing_currency,
        sum(cost) AS bill,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'workload'), 0) AS workload,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'idle'), 0) AS idle,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'headroom'), 0) AS headroom,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'system_overhead'), 0) AS system_overhead,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'cluster_fee'), 0) AS cluster_fee,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'shared'), 0) AS shared,
        coalesce(sum(cost) FILTER (WHERE row_kind = 'unattributed'), 0) AS unattributed
    FROM charges
    WHERE row_kind <> 'outside'
    GROUP BY provider, cluster_id, billing_currency
),

ratios AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        idle_part(workload, idle, headroom, system_overhead) AS idle_ratio
    FROM idle_ratio
    GROUP BY provider, cluster_id, billing_currency
)

SELECT
    bills.provider,
    bills.cluster_id,
    bills.cluster_name,
    bills.billing_currency,
    bills.bill,
    ratios.idle_ratio,
    if(list_contains(blind_spots.kinds, 'workload'), NULL, bills.workload) AS workload,
    if(list_contains(blind_spots.kinds, 'idle'), NULL, bills.idle) AS idle,
    if(list_contains(blind_spots.kinds, 'headroom'), NULL, bills.headroom) AS headroom,
    bills.system_overhead,
    bills.cluster_fee,
    bills.shared,
    bills.unattributed
FROM bills
LEFT JOIN ratios USING (provider, cluster_id, billing_currency)
LEFT JOIN blind_spots USING (provider, cluster_id)
ORDER BY ALL
