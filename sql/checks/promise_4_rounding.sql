-- promise_4_rounding: kinds add up to their line and rounded lines to their rounded cluster.
--
-- reads    statement_lines, minor_units, settings
-- returns  findings columns; one error per line whose kinds do not add up (rounded or not), and
--          one per variant, cluster and currency whose rounded lines miss the exact total by
--          more than half a minor unit
WITH
line_sums AS (
    SELECT
        *,
        coalesce(workload, 0) + coalesce(idle, 0) + coalesce(headroom, 0) + system_overhead
        + cluster_fee + shared + unattributed + corrections AS kinds,
        coalesce(workload_rounded, 0) + coalesce(idle_rounded, 0) + coalesce(headroom_rounded, 0)
        + system_overhead_rounded + cluster_fee_rounded + shared_rounded
        + unattributed_rounded + corrections_rounded AS kinds_rounded
    FROM statement_lines
),

offending AS (
    SELECT
        provider,
        cluster_id,
        concat_ws(', ', 'variant ' || variant, coalesce(team, 'no team'), billing_currency)
            AS place,
        total || ', rounded ' || total_rounded AS expected,
        kinds || ', rounded ' || kinds_rounded AS actual
    FROM line_sums
    WHERE total IS DISTINCT FROM kinds OR total_rounded IS DISTINCT FROM kinds_rounded
    UNION ALL
    SELECT
        line_sums.provider,
        line_sums.cluster_id,
        concat_ws(', ', 'variant ' || line_sums.variant, line_sums.billing_currency) AS place,
        sum(line_sums.total)::VARCHAR AS expected,
        sum(line_sums.total_rounded)::VARCHAR AS actual
    FROM line_sums
    LEFT JOIN minor_units USING (billing_currency)
    GROUP BY
        line_sums.provider, line_sums.cluster_id, line_sums.variant, line_sums.billing_currency,
        minor_units.places
    HAVING
        2 * quanta(abs(sum(line_sums.total_rounded) - sum(line_sums.total)))
        > power_of_ten(12 - coalesce(minor_units.places, 2))
)

SELECT
    settings.billing_period,
    'promise_4_rounding' AS rule,
    'error' AS severity,
    offending.provider,
    offending.cluster_id,
    offending.place AS "where",
    offending.expected,
    offending.actual,
    'rounding does not add up; report this as a defect' AS hint
FROM offending
CROSS JOIN settings
