-- cluster_months: what one month of a cluster can be compared with another one by.
--
-- reads    charges, idle_ratio, cluster_quantities, postings, settings
--          allocation_rules   of which id, scope and by count here
-- returns  one row per cluster and currency: billing_period, cost_view, charge_basis, provider,
--          cluster_id, billing_currency, bill, day_count (with cost), idle_ratio (of node cost),
--          the columns of cluster_quantities, and of what distributes idle
--          idle_rules   in words that can be compared: `none` knows no scope, and only
--                       `proportional` looks at what it is by
--          is_weighed, is_by_cost   whether weights do, and whether those are cost alone
-- promise  view and basis stand beside the figures, as only months that share them compare
WITH
bills AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        sum(cost) AS bill,
        count(DISTINCT charge_period_start) AS day_count
    FROM charges
    WHERE row_kind <> 'outside' AND cluster_id IS NOT NULL AND cost IS NOT NULL
    GROUP BY provider, cluster_id, billing_currency
),

ratios AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        idle_part(workload, idle, headroom, system_overhead) AS idle_ratio
    FROM idle_ratio
    GROUP BY provider, cluster_id, billing_currency
),

named AS (
    SELECT
        postings.provider,
        postings.cluster_id,
        postings.billing_currency,
        postings.method,
        concat_ws(
            ' ',
            postings.method,
            if(postings.method = 'proportional', 'by ' || allocation_rules."by", NULL),
            if(postings.method <> 'none', 'in each ' || allocation_rules.scope, NULL)
        ) AS words
    FROM postings
    LEFT JOIN allocation_rules ON postings.allocation_rule = allocation_rules.id
    WHERE postings.row_kind = 'idle'
),

rules AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        list_sort(list(DISTINCT words)) AS idle_rules,
        bool_or(method <> 'none') AS is_weighed,
        bool_and(method IN ('none', 'proportional')) AS is_by_cost
    FROM named
    GROUP BY provider, cluster_id, billing_currency
)

SELECT
    settings.billing_period,
    settings.cost_view,
    settings.charge_basis,
    bills.*,
    ratios.idle_ratio,
    cluster_quantities.* EXCLUDE (provider, cluster_id, billing_currency),
    rules.idle_rules,
    rules.is_weighed,
    rules.is_by_cost
FROM bills
CROSS JOIN settings
LEFT JOIN ratios USING (provider, cluster_id, billing_currency)
LEFT JOIN cluster_quantities USING (provider, cluster_id, billing_currency)
LEFT JOIN rules USING (provider, cluster_id, billing_currency)
