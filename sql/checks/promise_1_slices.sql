-- promise_1_slices: what was sliced is in the normalised rows, exactly.
--
-- reads    both_views, totals, settings
-- returns  findings columns; one error per source, currency and cost view that differs, and one
--          when there was nothing to compare in the month's cost view
WITH
normalised_amounts AS (
    SELECT
        provider,
        source,
        billing_currency,
        cost_view,
        sum(amount) AS actual
    FROM both_views
    GROUP BY provider, source, billing_currency, cost_view
),

sliced_amounts AS (
    SELECT
        provider,
        source,
        billing_currency,
        cost_view,
        sum(amount) AS expected
    FROM totals
    WHERE fate = 'sliced' AND rows > 0
    GROUP BY provider, source, billing_currency, cost_view
),

offending AS (
    SELECT
        provider,
        source,
        concat_ws(', ', source, billing_currency, cost_view) AS place,
        sliced_amounts.expected,
        normalised_amounts.actual
    FROM sliced_amounts
    FULL JOIN normalised_amounts USING (provider, source, billing_currency, cost_view)
    WHERE normalised_amounts.actual IS DISTINCT FROM sliced_amounts.expected
    UNION ALL BY NAME
    SELECT cost_view || ' view: nothing to compare' AS place
    FROM settings
    ANTI JOIN sliced_amounts USING (cost_view)
)

SELECT
    settings.billing_period,
    'promise_1_slices' AS rule,
    'error' AS severity,
    offending.provider,
    offending.source,
    offending.place AS "where",
    coalesce(offending.expected::VARCHAR, 'a sliced amount') AS expected,
    coalesce(offending.actual::VARCHAR, 'no row') AS actual,
    (offending.actual - offending.expected)::VARCHAR AS difference,
    'rows were lost or made between slicing and normalising; report this as a defect' AS hint
FROM offending
CROSS JOIN settings
