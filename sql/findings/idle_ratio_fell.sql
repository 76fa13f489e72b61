-- idle_ratio_fell: less of a cluster stands idle, its bill is no smaller, and more is requested.
--
-- reads    cluster_months, last_clusters
-- returns  findings columns; one warning per cluster and currency
-- how      from 2 points of idle ratio on: a cluster that scales well moves by about one from
--          month to month. The bill counts by the day, as months differ in length, and is no
--          smaller if it fell by less than 1 %; requests are up from 1 % on. Only months in one
--          cost view and on one charge basis are compared; unknown requests are not up.
WITH
compared AS (
    SELECT
        now.*,
        earlier.billing_period AS period_before,
        earlier.idle_ratio AS ratio_before,
        earlier.bill AS bill_before,
        earlier.day_count AS days_before,
        unnest(['cpu', 'memory', 'gpu']) AS resource_kind,
        unnest([now.requested_cpu, now.requested_memory, now.requested_gpu])
        / now.day_count AS asked,
        unnest([earlier.requested_cpu, earlier.requested_memory, earlier.requested_gpu])
        / earlier.day_count AS asked_before,
        unnest([now.used_cpu, now.used_memory, NULL]) / now.day_count AS used,
        unnest([earlier.used_cpu, earlier.used_memory, NULL]) / earlier.day_count AS used_before
    FROM cluster_months AS now
    INNER JOIN last_clusters AS earlier
        USING (provider, cluster_id, billing_currency, cost_view, charge_basis)
    WHERE
        earlier.idle_ratio - now.idle_ratio >= 0.02
        AND quanta(now.bill) * earlier.day_count * 100 >= quanta(earlier.bill) * now.day_count * 99
),

raised AS (
    SELECT
        * EXCLUDE (resource_kind, asked, asked_before, used, used_before),
        string_agg(concat_ws(
            ', ',
            resource_kind || format(' {:.1f} (before {:.1f})', asked, asked_before),
            format('used {:.1f} (before {:.1f})', used, used_before)
        ), '; ' ORDER BY resource_kind ASC) AS words
    FROM compared
    WHERE asked >= 1.01 * asked_before
    GROUP BY ALL
)

SELECT
    billing_period,
    'idle_ratio_fell' AS rule,
    'warning' AS severity,
    provider,
    cluster_id,
    'cluster as a whole, since ' || period_before AS "where",
    format('an idle ratio of {:.1f} %, or a smaller bill', 100 * ratio_before) AS expected,
    format('{:.1f} % for ', 100 * idle_ratio)
    || money(quanta(bill) // day_count)::DECIMAL(38, 2) || ' ' || billing_currency
    || ' a day (before ' || money(quanta(bill_before) // days_before)::DECIMAL(38, 2)
    || '); requests a day: ' || words AS actual,
    format('{:.1f} points', 100 * (idle_ratio - ratio_before)) AS difference,
    'requests were raised: idle moved into the teams'' own figures, and nothing was saved; see '
    || '`leerlauf efficiency ' || billing_period || '`' AS hint
FROM raised
