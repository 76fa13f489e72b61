-- postings: what the rules in force gave to whom, with all that explains it.
--
-- reads    shares, assignments, pools, settings
-- returns  the columns of table postings (transforms/schema.py)
WITH
in_force AS (
    SELECT
        assignments.method,
        assignments.weighed_by,
        pools.*,
        shares.* EXCLUDE (distribution),
        pools.row_kind IN ('workload', 'unattributed') AS is_direct
    FROM shares
    INNER JOIN assignments USING (distribution)
    INNER JOIN pools USING (pool)
    WHERE assignments.variant = 'rules'
)

SELECT
    settings.billing_period,
    in_force.charge_date,
    in_force.charge_class,
    in_force.provider,
    in_force.cluster_id,
    in_force.scope,
    in_force.scope_key,
    in_force.pool_id,
    in_force.row_kind,
    in_force.reason,
    in_force.resource_kind,
    in_force.team,
    in_force.method,
    in_force.allocation_rule,
    in_force.weight,
    in_force.weight_total,
    in_force.pool_amount,
    in_force.amount,
    in_force.billing_currency,
    nullif(concat_ws(
        '; ',
        CASE
            WHEN in_force.holds_reserve
                THEN 'includes what the nodes reserve for themselves, which is unknown'
        END,
        CASE
            WHEN in_force.weighed_by <> in_force.method
                THEN
                    'nobody who takes part has a value of the metric: distributed by fallback '
                    || in_force.weighed_by
        END,
        CASE
            WHEN in_force.row_kind = 'workload' AND in_force.team IS NULL
                THEN 'no team rule matches this workload'
            WHEN in_force.method <> 'none' AND in_force.weight IS NULL
                THEN 'nobody has weight in this pool: it stays with the operator'
            WHEN in_force.weight IS NOT NULL AND in_force.claimant IS NULL
                THEN 'part of workload without a team: the operator bears it'
        END,
        CASE
            WHEN NOT in_force.is_direct AND in_force.team IS NULL
                THEN 'no operator is configured for this cluster'
        END
    ), '') AS note
FROM in_force
CROSS JOIN settings
