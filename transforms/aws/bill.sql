-- bill: what AWS's raw rows add up to, summed without any of the transform's code.
--
-- reads    raw      one raw file, its columns named as in CUR 2.0, values as they came
--          $period  billing period, YYYY-MM
--          $net     whether the account's amortised amounts are net of all discounts
-- returns  class, service_name, billing_currency, cost_view, rows, amount
-- promise  each raw row is counted once in each view; nothing is filtered away
WITH
amounts AS (
    SELECT
        line_item_line_item_type AS line_item_type,
        line_item_product_code AS service_name,
        line_item_currency_code AS billing_currency,
        coalesce(line_item_operation IN ('EKSPod-EC2', 'ECSTask-EC2'), FALSE) AS is_split,
        coalesce(left(bill_billing_period_start_date::VARCHAR, 7) = $period, FALSE) AS is_ours,
        coalesce(reservation_reservation_a_r_n, '') <> '' AS has_reservation,
        line_item_unblended_cost::DECIMAL(38, 12) AS unblended,
        if(
            $net, line_item_net_unblended_cost, line_item_unblended_cost
        )::DECIMAL(38, 12) AS own,
        if(
            $net,
            savings_plan_net_savings_plan_effective_cost,
            savings_plan_savings_plan_effective_cost
        )::DECIMAL(38, 12) AS plan,
        if(
            $net, reservation_net_effective_cost, reservation_effective_cost
        )::DECIMAL(38, 12) AS reserved,
        savings_plan_total_commitment_to_date::DECIMAL(38, 12)
        - savings_plan_used_commitment::DECIMAL(38, 12) AS unused_plan,
        if(
            $net,
            reservation_net_unused_amortized_upfront_fee_for_billing_period,
            reservation_unused_amortized_upfront_fee_for_billing_period
        )::DECIMAL(38, 12)
        + if(
            $net, reservation_net_unused_recurring_fee, reservation_unused_recurring_fee
        )::DECIMAL(38, 12) AS unused_reservation
    FROM raw
),

charged AS (
    SELECT
        service_name,
        billing_currency,
        CASE
            WHEN NOT is_ours THEN 'other_period'
            WHEN is_split THEN 'split_information'
            ELSE line_item_type
        END AS class,
        unblended AS billed,
        CASE
            WHEN is_split THEN unblended
            WHEN line_item_type = 'SavingsPlanCoveredUsage' THEN plan
            WHEN line_item_type = 'DiscountedUsage' THEN reserved
            WHEN line_item_type IN ('SavingsPlanNegation', 'SavingsPlanUpfrontFee') THEN 0
            WHEN line_item_type = 'Fee' AND has_reservation THEN 0
            WHEN line_item_type = 'SavingsPlanRecurringFee' THEN unused_plan
            WHEN line_item_type = 'RIFee' THEN unused_reservation
            ELSE own
        END AS effective
    FROM amounts
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
GROUP BY ALL
ORDER BY ALL
