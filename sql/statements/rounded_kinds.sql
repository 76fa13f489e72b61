-- rounded_kinds: every kind of every line, rounded so that the kinds add up to their line.
--
-- reads    line_kinds, rounded_lines
-- returns  the columns of line_kinds and rounded_lines, and amount_rounded (DECIMAL(38,12))
-- promise  per line SUM(amount_rounded) is its rounded total; no kind is a whole minor unit
--          away from its exact amount; NULL stays NULL
-- how      largest remainder, ties in the order of the kinds
WITH
floors AS (
    SELECT
        line_kinds.*,
        rounded_lines.total,
        rounded_lines.unit,
        rounded_lines.total_units,
        floored(quanta(line_kinds.amount), rounded_lines.unit) AS low,
        quanta(line_kinds.amount) - low * rounded_lines.unit AS leftover
    FROM line_kinds
    INNER JOIN rounded_lines
        ON
            line_kinds.variant = rounded_lines.variant
            AND line_kinds.provider = rounded_lines.provider
            AND line_kinds.cluster_id = rounded_lines.cluster_id
            AND line_kinds.billing_currency = rounded_lines.billing_currency
            AND line_kinds.team IS NOT DISTINCT FROM rounded_lines.team
),

ranked AS (
    SELECT
        *,
        total_units - sum(low) OVER line AS missing,
        row_number() OVER (line ORDER BY leftover DESC NULLS LAST, kind_position ASC) AS turn
    FROM floors
    WINDOW line AS (PARTITION BY variant, provider, cluster_id, billing_currency, team)
)

SELECT
    * EXCLUDE (low, leftover, missing, turn),
    money((low + (turn <= missing)::INTEGER) * unit) AS amount_rounded
FROM ranked
