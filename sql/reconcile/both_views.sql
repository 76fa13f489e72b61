-- both_views: the normalised rows, summed in each cost view a source has.
--
-- reads    normalised
-- returns  provider, source, cluster_id, is_outside, billing_currency, cost_view, amount
-- promise  views are listed side by side, never added; a view a source lacks has no row
WITH
amounts AS (
    SELECT
        provider,
        source,
        cluster_id,
        row_kind = 'outside' AS is_outside,
        billing_currency,
        sum(effective_cost) AS effective,
        sum(billed_cost) AS billed
    FROM normalised
    GROUP BY ALL
)

SELECT
    provider,
    source,
    cluster_id,
    is_outside,
    billing_currency,
    'effective' AS cost_view,
    effective AS amount
FROM amounts
WHERE effective IS NOT NULL
UNION ALL
SELECT
    provider,
    source,
    cluster_id,
    is_outside,
    billing_currency,
    'billed' AS cost_view,
    billed AS amount
FROM amounts
WHERE billed IS NOT NULL
