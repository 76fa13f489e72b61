-- promise_1_bill: the rows that were sliced or set aside are the raw rows, all of them.
--
-- reads    totals, bill (summed straight from the raw files, by separate SQL), settings
-- returns  findings columns; one error per source, currency and cost view that differs, and one
--          when there was nothing to compare in the month's cost view
-- how      the two engines round doubles differently: the sums may differ by a quantum per row
--          and by 1e-15 of the sum of absolute amounts, and by no more
WITH
seen AS (
    SELECT
        provider,
        source,
        billing_currency,
        cost_view,
        sum(rows)::HUGEINT AS rows_seen,
        sum(amount) AS amount_seen,
        rows_seen + quanta(sum(amount_abs)) // 1000000000000000 AS tolerance
    FROM totals
    GROUP BY provider, source, billing_currency, cost_view
),

billed AS (
    SELECT
        provider,
        source,
        billing_currency,
        cost_view,
        sum(rows)::HUGEINT AS rows_billed,
        sum(amount) AS amount_billed
    FROM bill
    GROUP BY provider, source, billing_currency, cost_view
),

differing AS (
    SELECT
        provider,
        source,
        concat_ws(', ', source, billing_currency, cost_view) AS place,
        billed.rows_billed || ' rows, ' || billed.amount_billed AS expected,
        seen.rows_seen || ' rows, ' || seen.amount_seen AS actual,
        seen.amount_seen - billed.amount_billed AS difference
    FROM billed
    FULL JOIN seen USING (provider, source, billing_currency, cost_view)
    WHERE
        seen.rows_seen IS DISTINCT FROM billed.rows_billed
        OR seen.amount_seen IS NULL
        OR quanta(abs(seen.amount_seen - billed.amount_billed)) > seen.tolerance
    UNION ALL BY NAME
    SELECT cost_view || ' view: nothing to compare' AS place
    FROM settings
    ANTI JOIN billed USING (cost_view)
)

SELECT
    settings.billing_period,
    'promise_1_bill' AS rule,
    'error' AS severity,
    differing.provider,
    differing.source,
    differing.place AS "where",
    coalesce(differing.expected, 'rows of the bill') AS expected,
    coalesce(differing.actual, 'no row') AS actual,
    differing.difference::VARCHAR AS difference,
    'the transform and the raw files disagree; report this as a defect' AS hint
FROM differing
CROSS JOIN settings
