-- reserve_unknown: idle of a cluster still holds what its nodes reserve for themselves.
--
-- reads    unknown_reserves, settings
-- returns  findings columns; one info per cluster and currency with idle nodes whose reserve is
--          unknown, and the idle that includes it; none where the provider sets it apart itself
SELECT
    settings.billing_period,
    'reserve_unknown' AS rule,
    'info' AS severity,
    unknown_reserves.provider,
    unknown_reserves.cluster_id,
    count(DISTINCT unknown_reserves.resource_id)
    || if(count(DISTINCT unknown_reserves.resource_id) = 1, ' node', ' nodes') AS "where",
    'allocatable capacity of every node' AS expected,
    'unknown: ' || coalesce(
        sum(unknown_reserves.idle) FILTER (WHERE unknown_reserves.idle > 0), 0
    ) || ' ' || unknown_reserves.billing_currency
    || ' of idle includes what kubelet and system reserve' AS actual,
    'kubectl get nodes -o json shows it: save what it prints, and name the file under [[nodes]]'
        AS hint
FROM unknown_reserves
CROSS JOIN settings
GROUP BY
    settings.billing_period, unknown_reserves.provider, unknown_reserves.cluster_id,
    unknown_reserves.billing_currency
