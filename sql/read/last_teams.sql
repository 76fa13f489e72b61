-- last_teams: what each team was shown in a month, as the next month's findings compare it.
--
-- reads    statements
-- returns  provider, cluster_id, billing_currency, team, workload, idle
SELECT
    provider,
    cluster_id,
    billing_currency,
    team,
    workload,
    idle
FROM statements
