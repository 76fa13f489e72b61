-- promise_9_no_mixing: currencies are never added, cost views never mixed in a sum.
--
-- reads    charges, statement_lines, settings
-- returns  findings columns; one error per source whose rows lack the month's cost view, one per
--          source with amounts of no currency, and one per currency whose statements differ
--          from its charges
WITH
incomplete AS (
    SELECT
        provider,
        source,
        'the month''s cost view on every row' AS expected,
        count(*) FILTER (WHERE cost IS NULL) || ' of ' || count(*) || ' rows lack it' AS actual
    FROM charges
    GROUP BY provider, source
    HAVING count(cost) < count(*)
    UNION ALL
    SELECT
        provider,
        source,
        'a currency on every row' AS expected,
        count(*) || ' rows without one' AS actual
    FROM charges
    WHERE billing_currency IS NULL OR billing_currency = ''
    GROUP BY provider, source
),

charged AS (
    SELECT
        billing_currency,
        sum(cost) AS expected
    FROM charges
    WHERE row_kind <> 'outside' AND cost IS NOT NULL
    GROUP BY billing_currency
),

stated AS (
    SELECT
        billing_currency,
        sum(total - corrections) AS actual
    FROM statement_lines
    WHERE variant = 'rules'
    GROUP BY billing_currency
),

offending AS (
    SELECT
        *,
        source AS place
    FROM incomplete
    UNION ALL BY NAME
    SELECT
        'all charges in ' || billing_currency AS place,
        coalesce(charged.expected, 0)::VARCHAR AS expected,
        coalesce(stated.actual::VARCHAR, 'no statement') AS actual
    FROM charged
    FULL JOIN stated USING (billing_currency)
    WHERE stated.actual IS DISTINCT FROM charged.expected
)

SELECT
    settings.billing_period,
    'promise_9_no_mixing' AS rule,
    'error' AS severity,
    offending.provider,
    offending.source,
    offending.place AS "where",
    offending.expected,
    offending.actual,
    'choose a cost view that every source has, and one currency per source' AS hint
FROM offending
CROSS JOIN settings
