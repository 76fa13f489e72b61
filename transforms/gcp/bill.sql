-- bill: what Google's raw rows add up to, summed without any of the transform's code.
--
-- reads    raw      one raw file: month, cost_type, service_name, billing_currency, cost, and
--                   credits (a list of amounts), values as they came
--          $period  billing period, YYYY-MM
-- returns  class, service_name, billing_currency, cost_view, rows, amount
-- promise  each raw row is counted once in each view, with all its credits; nothing is filtered
--          away
WITH
charged AS (
    SELECT
        service_name,
        billing_currency,
        if(
            coalesce(replace(trim(month::VARCHAR), '-', '')[:6] = replace($period, '-', ''), FALSE),
            cost_type,
            'other_period'
        ) AS class,
        cost::DECIMAL(38, 12) + coalesce(list_sum(credits::DECIMAL(38, 12)[]), 0) AS effective
    FROM raw
),

viewed AS (
    SELECT
        *,
        effective AS billed
    FROM charged
)

SELECT
    class,
    service_name,
    billing_currency,
    cost_view,
    count(*) AS rows,  -- noqa: RF04
    coalesce(sum(amount), 0)::DECIMAL(38, 12) AS amount
FROM viewed
UNPIVOT INCLUDE NULLS (amount FOR cost_view IN (effective, billed))
GROUP BY ALL
ORDER BY ALL
