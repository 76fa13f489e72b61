-- team_changes: what each team of a cluster was shown in this month and in the one earlier.
--
-- reads    statements, last_teams
-- returns  one row per cluster, currency and team of either month: provider, cluster_id,
--          billing_currency, team ('(no team)' where there is none), and
--          how          `joined`, `left` or `stayed`; NULL without workload in both
--          part         its part of the cluster's workload, in the month it was there
--          idle_moved   billing currency; NULL where a month does not know it
WITH
shown AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        team,
        workload,
        idle
    FROM statements
    UNION ALL BY NAME
    SELECT
        provider,
        cluster_id,
        billing_currency,
        team,
        workload AS workload_before,
        idle AS idle_before
    FROM last_teams
),

teams AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        coalesce(team, '(no team)') AS team,
        coalesce(sum(workload), 0) AS workload,
        coalesce(sum(workload_before), 0) AS workload_before,
        sum(idle) - sum(idle_before) AS idle_moved
    FROM shown
    GROUP BY ALL
)

SELECT
    provider,
    cluster_id,
    billing_currency,
    team,
    idle_moved,
    CASE
        WHEN workload > 0 AND workload_before > 0 THEN 'stayed'
        WHEN workload > 0 THEN 'joined'
        WHEN workload_before > 0 THEN 'left'
    END AS how,
    CASE how
        WHEN 'left' THEN workload_before / nullif(sum(workload_before) OVER in_cluster, 0)
        ELSE workload / nullif(sum(workload) OVER in_cluster, 0)
    END AS part
FROM teams
WINDOW in_cluster AS (PARTITION BY provider, cluster_id, billing_currency)
