-- line_kinds: every statement line in every variant, one row for each of its kinds.
--
-- reads    team_amounts, kinds, blind_spots, clusters
-- returns  variant, provider, cluster_id, billing_currency, team, kind_position, kind, amount,
--          is_last (the operator and the line without a team come last where order decides)
-- promise  a kind without rows is 0; a kind that cannot be known is NULL
WITH
lines AS (
    SELECT DISTINCT
        variant,
        provider,
        cluster_id,
        billing_currency,
        team
    FROM team_amounts
)

SELECT
    lines.variant,
    lines.provider,
    lines.cluster_id,
    lines.billing_currency,
    lines.team,
    kinds.kind_position,
    kinds.kind,
    if(list_contains(blind_spots.kinds, kinds.kind), NULL, coalesce(team_amounts.amount, 0))
        AS amount,
    lines.team IS NULL OR coalesce(lines.team = clusters.operator, FALSE) AS is_last
FROM lines
CROSS JOIN kinds
LEFT JOIN team_amounts
    ON
        lines.variant = team_amounts.variant
        AND lines.provider = team_amounts.provider
        AND lines.cluster_id = team_amounts.cluster_id
        AND lines.billing_currency = team_amounts.billing_currency
        AND lines.team IS NOT DISTINCT FROM team_amounts.team
        AND kinds.kind = team_amounts.kind
LEFT JOIN blind_spots
    ON lines.provider = blind_spots.provider AND lines.cluster_id = blind_spots.cluster_id
LEFT JOIN clusters
    ON lines.provider = clusters.provider AND lines.cluster_id = clusters.cluster_id
