-- rounded_lines: the total of every line, rounded so that the lines add up to their cluster.
--
-- reads    line_kinds, minor_units
-- returns  variant, provider, cluster_id, billing_currency, team, total (DECIMAL(38,12)),
--          unit (quanta in one minor unit), total_units (the rounded total in minor units)
-- promise  per variant, cluster and currency SUM(total_units) is the exact total rounded
--          half-even; no line is a whole minor unit away from its exact total
-- how      largest remainder: every line is rounded down, then the units still missing go to
--          the biggest leftovers, ties by team name, the operator and NULL last
WITH
totals AS (
    SELECT
        variant,
        provider,
        cluster_id,
        billing_currency,
        team,
        is_last,
        sum(amount) AS total
    FROM line_kinds
    GROUP BY variant, provider, cluster_id, billing_currency, team, is_last
),

floors AS (
    SELECT
        totals.*,
        power_of_ten(12 - coalesce(minor_units.places, 2)) AS unit,
        floored(quanta(totals.total), unit) AS low,
        quanta(totals.total) - low * unit AS leftover
    FROM totals
    LEFT JOIN minor_units USING (billing_currency)
),

clusters_rounded AS (
    SELECT
        variant,
        provider,
        cluster_id,
        billing_currency,
        any_value(unit) AS cluster_unit,
        floored(sum(low * unit + leftover), cluster_unit) AS cluster_low,
        2 * (sum(low * unit + leftover) - cluster_low * cluster_unit) AS doubled_leftover,
        cluster_low + (
            doubled_leftover > cluster_unit
            OR (doubled_leftover = cluster_unit AND cluster_low % 2 <> 0)
        )::INTEGER - sum(low) AS missing
    FROM floors
    GROUP BY variant, provider, cluster_id, billing_currency
),

ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY variant, provider, cluster_id, billing_currency
            ORDER BY leftover DESC, is_last ASC, team IS NULL ASC, team ASC
        ) AS turn
    FROM floors
)

SELECT
    ranked.variant,
    ranked.provider,
    ranked.cluster_id,
    ranked.billing_currency,
    ranked.team,
    ranked.total,
    ranked.unit,
    ranked.low + (ranked.turn <= clusters_rounded.missing)::INTEGER AS total_units
FROM ranked
INNER JOIN clusters_rounded USING (variant, provider, cluster_id, billing_currency)
