-- split_gap: the bill of a cluster's nodes and the provider's split of it differ.
--
-- reads    charges, settings
-- returns  findings columns; one warning per cluster and currency where the gap is not 0
SELECT
    settings.billing_period,
    'split_gap' AS rule,
    'warning' AS severity,
    charges.provider,
    charges.source,
    charges.cluster_id,
    concat_ws(
        ' ', 'resources:', count(DISTINCT charges.resource_id),
        'days:', count(DISTINCT charges.charge_period_start)
    ) AS "where",
    '0' AS expected,
    sum(charges.cost)::VARCHAR AS actual,
    sum(charges.cost)::VARCHAR AS difference,
    'shown as unattributed, on nobody''s account; a gap on single days usually means that the '
    || 'split was not complete yet: fetch the month again' AS hint
FROM charges
CROSS JOIN settings
WHERE charges.row_kind = 'unattributed' AND charges.reason = 'split_gap'
GROUP BY
    settings.billing_period, charges.provider, charges.source, charges.cluster_id,
    charges.billing_currency
HAVING bool_or(charges.cost <> 0)
