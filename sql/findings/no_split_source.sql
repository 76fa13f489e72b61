-- no_split_source: nodes of a cluster that the provider did not split.
--
-- reads    charges, blind_spots, settings
-- returns  findings columns; one warning per cluster and currency
SELECT
    settings.billing_period,
    'no_split_source' AS rule,
    'warning' AS severity,
    charges.provider,
    charges.source,
    charges.cluster_id,
    min(charges.charge_period_start) || ' to ' || max(charges.charge_period_start) AS "where",
    'node cost split by workload' AS expected,
    concat_ws(
        '; ',
        'none on these days, so their cost is unattributed',
        'not known: ' || array_to_string(any_value(blind_spots.kinds), ', ')
    ) AS actual,
    sum(charges.cost)::VARCHAR AS difference,
    'switch on the provider''s split of cluster cost (called split cost allocation data, cost '
    || 'allocation or cost analysis) for this account, and in the export too where it has a box '
    || 'for it; it counts from that day on, never backwards' AS hint
FROM charges
CROSS JOIN settings
LEFT JOIN blind_spots
    ON
        charges.provider = blind_spots.provider
        AND charges.cluster_id = blind_spots.cluster_id
WHERE charges.row_kind = 'unattributed' AND charges.reason = 'no_split_source'
GROUP BY
    settings.billing_period, charges.provider, charges.source, charges.cluster_id,
    charges.billing_currency
