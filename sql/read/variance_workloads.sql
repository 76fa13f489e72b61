-- variance_workloads: what each team's workload cost, and the quantity it was charged for.
--
-- reads    charges, settings
-- returns  provider, billing_currency, cluster_id, team, resource_kind, is_node (charged through a
--          node), quantity_unit, is_known (whether the quantity is), cost, quantity
-- promise  no corrections: they are about another month's quantity
-- how      what a workload was charged for is its request under basis request; else what the
--          provider says, or the request where it says nothing
WITH
charged AS (
    SELECT
        charges.*,
        charges.resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
        AND charges.split_source IS NOT NULL AS is_node,
        if(
            settings.charge_basis = 'request',
            charges.requested_quantity,
            coalesce(charges.charged_quantity, charges.requested_quantity)
        ) AS quantity
    FROM charges
    CROSS JOIN settings
    WHERE
        charges.row_kind = 'workload'
        AND charges.charge_class IS NULL
        AND charges.cost IS NOT NULL
)

SELECT
    provider,
    billing_currency,
    cluster_id,
    team,
    resource_kind,
    is_node,
    quantity_unit,
    quantity IS NOT NULL AS is_known,
    sum(cost) AS cost,
    sum(quantity) AS quantity
FROM charged
GROUP BY ALL
