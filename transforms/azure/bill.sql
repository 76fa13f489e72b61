-- bill: what Azure's raw rows add up to, summed without any of the transform's code.
--
-- reads    raw         one raw file: period_start, charge_type, rule_name, meter_category,
--                      billing_currency, effective, billed, values as they came
--          $period     billing period, YYYY-MM
--          $effective  whether the source has the effective view, $billed the same for billed
-- returns  class, service_name, billing_currency, cost_view, rows, amount
-- promise  each raw row is counted once in each view the source has; nothing is filtered away
WITH
told AS (
    SELECT
        charge_type,
        meter_category AS service_name,
        billing_currency,
        rule_name IS NOT NULL AS is_reallocation,
        period_start::VARCHAR AS period_text,
        effective::DECIMAL(38, 12) AS effective,
        billed::DECIMAL(38, 12) AS billed
    FROM raw
),

-- The month stands first in 10/31/2026 and in the middle of 2026-10-31.
charged AS (
    SELECT
        service_name,
        billing_currency,
        if(
            substr(period_text, 3, 1) = '/',
            substr(period_text, 7, 4) || '-' || left(period_text, 2),
            left(period_text, 7)
        ) AS bill_month,
        CASE
            WHEN NOT coalesce(bill_month = $period, FALSE) THEN 'other_period'
            WHEN is_reallocation THEN 'provider_reallocation'
            ELSE charge_type
        END AS class,
        effective,
        billed
    FROM told
)

SELECT
    class,
    service_name,
    billing_currency,
    cost_view,
    count(*) AS rows,  -- noqa: RF04
    coalesce(sum(amount), 0)::DECIMAL(38, 12) AS amount
FROM charged
UNPIVOT INCLUDE NULLS (amount FOR cost_view IN (effective, billed))
WHERE if(cost_view = 'effective', $effective, $billed)
GROUP BY ALL
ORDER BY ALL
