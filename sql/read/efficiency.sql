-- efficiency: what each workload requested, used and cost, and what of it nobody used.
--
-- reads    charges, settings
-- returns  provider, billing_currency, cluster_id, team, namespace, workload_name, resource_kind,
--          quantity_unit, requested_quantity, used_quantity, workload, workload_idle
-- promise  workload adds up to the teams' workload of the month. A quantity is NULL as soon as
--          one part of it was not measured, and so is workload_idle: missing is not zero. It is
--          an amortised amount, so it is unknown in a month that counts what was invoiced.
SELECT
    charges.provider,
    charges.billing_currency,
    charges.cluster_id,
    charges.team,
    charges.namespace,
    charges.workload_name,
    charges.resource_kind,
    charges.quantity_unit,
    if(count(charges.requested_quantity) = count(*), sum(charges.requested_quantity), NULL)
        AS requested_quantity,
    if(count(charges.used_quantity) = count(*), sum(charges.used_quantity), NULL)
        AS used_quantity,
    sum(charges.cost) AS workload,
    if(
        settings.cost_view = 'effective' AND count(charges.workload_idle) = count(*),
        sum(charges.workload_idle),
        NULL
    ) AS workload_idle
FROM charges
CROSS JOIN settings
WHERE charges.row_kind = 'workload'
GROUP BY
    settings.cost_view, charges.provider, charges.billing_currency, charges.cluster_id,
    charges.team, charges.namespace, charges.workload_name, charges.resource_kind,
    charges.quantity_unit
ORDER BY ALL
