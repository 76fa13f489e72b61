-- statement_lines: one row a line with its kinds as columns, in every variant.
--
-- reads    rounded_kinds, daily_costs, settings
-- returns  variant, and the columns of table statements (transforms/schema.py)
WITH
workload_idle AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        team,
        sum(workload_idle) AS workload_idle
    FROM daily_costs
    WHERE row_kind = 'workload'
    GROUP BY provider, cluster_id, billing_currency, team
)

SELECT
    lines.variant,
    settings.billing_period,
    lines.provider,
    lines.cluster_id,
    lines.team,
    lines.billing_currency,
    sum(lines.amount) FILTER (WHERE lines.kind = 'workload') AS workload,
    sum(lines.amount) FILTER (WHERE lines.kind = 'idle') AS idle,
    sum(lines.amount) FILTER (WHERE lines.kind = 'headroom') AS headroom,
    sum(lines.amount) FILTER (WHERE lines.kind = 'system_overhead') AS system_overhead,
    sum(lines.amount) FILTER (WHERE lines.kind = 'cluster_fee') AS cluster_fee,
    sum(lines.amount) FILTER (WHERE lines.kind = 'shared') AS shared,
    sum(lines.amount) FILTER (WHERE lines.kind = 'unattributed') AS unattributed,
    sum(lines.amount) FILTER (WHERE lines.kind = 'corrections') AS corrections,
    any_value(lines.total) AS total,
    any_value(money(lines.total_units * lines.unit)) AS total_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'workload') AS workload_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'idle') AS idle_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'headroom') AS headroom_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'system_overhead')
        AS system_overhead_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'cluster_fee') AS cluster_fee_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'shared') AS shared_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'unattributed') AS unattributed_rounded,
    sum(lines.amount_rounded) FILTER (WHERE lines.kind = 'corrections') AS corrections_rounded,
    any_value(workload_idle.workload_idle) AS workload_idle,
    settings.month_status
FROM rounded_kinds AS lines
CROSS JOIN settings
LEFT JOIN workload_idle
    ON
        lines.provider = workload_idle.provider
        AND lines.cluster_id = workload_idle.cluster_id
        AND lines.billing_currency = workload_idle.billing_currency
        AND lines.team IS NOT DISTINCT FROM workload_idle.team
GROUP BY
    lines.variant, settings.billing_period, lines.provider, lines.cluster_id, lines.team,
    lines.billing_currency, settings.month_status
