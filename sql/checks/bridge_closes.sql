-- bridge_closes: the bridges explain the idle down to dust, and each adds up.
--
-- reads    charges, reconciliation, settings
-- returns  findings columns; one error per node and resource kind whose bridge does not add up to
--          the idle charged, is missing, or leaves more than dust unexplained
-- how      dust is 1e-9 per raw row; a row here is a day, so up to 24 of them. It leaves room for
--          the quantum by which a product of quantity and price is rounded. Only in the
--          effective view, because the provider's own idle is amortised, and not where the
--          idle comes from a split source with money of its own (`rebased` is there to hold it).
WITH
bridges AS (
    SELECT
        provider,
        cluster_id,
        node_name,
        resource_kind,
        billing_currency,
        sum(amount) FILTER (WHERE name <> 'idle') AS explained,
        sum(amount) FILTER (WHERE name = 'idle') AS idle,
        sum(amount) FILTER (WHERE name = 'rebased') AS rebased
    FROM reconciliation
    GROUP BY provider, cluster_id, node_name, resource_kind, billing_currency
),

charged AS (
    SELECT
        charges.provider,
        charges.cluster_id,
        charges.node_name,
        charges.resource_kind,
        charges.billing_currency,
        sum(charges.cost) FILTER (WHERE charges.row_kind = 'idle') AS known_idle,
        coalesce(known_idle, 0) AS idle_cost,
        count(*) AS charge_rows,
        bool_or(coalesce(list_contains(settings.splits_apart, charges.split_source), FALSE))
            AS is_apart
    FROM charges
    CROSS JOIN settings
    WHERE charges.cluster_id IS NOT NULL AND charges.cost IS NOT NULL
    GROUP BY
        charges.provider, charges.cluster_id, charges.node_name, charges.resource_kind,
        charges.billing_currency
    HAVING known_idle IS NOT NULL OR count(charges.provider_idle_cost) > 0
)

SELECT
    settings.billing_period,
    'bridge_closes' AS rule,
    'error' AS severity,
    charged.provider,
    charged.cluster_id,
    concat_ws(', ', charged.node_name, charged.resource_kind, charged.billing_currency)
        AS "where",
    charged.idle_cost::VARCHAR AS expected,
    coalesce(bridges.explained || ', of which rebased ' || bridges.rebased, 'no bridge')
        AS actual,
    bridges.rebased::VARCHAR AS difference,
    'the provider''s idle and ours differ by more than rounding; report this as a defect' AS hint
FROM charged
CROSS JOIN settings
LEFT JOIN bridges
    ON
        charged.provider = bridges.provider
        AND charged.cluster_id = bridges.cluster_id
        AND charged.node_name IS NOT DISTINCT FROM bridges.node_name
        AND charged.resource_kind = bridges.resource_kind
        AND charged.billing_currency = bridges.billing_currency
WHERE
    bridges.idle IS DISTINCT FROM charged.idle_cost
    OR bridges.explained IS DISTINCT FROM charged.idle_cost
    OR (
        settings.cost_view = 'effective'
        AND NOT charged.is_apart
        AND abs(bridges.rebased) > charged.charge_rows * 24 * 0.000000001
    )
