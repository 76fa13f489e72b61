-- teams_not_comparable: idle is shared among others, or otherwise, than in the month earlier.
--
-- reads    cluster_months, last_clusters, team_changes
-- returns  findings columns; one warning per cluster and currency whose idle is, or was,
--          distributed by weights
-- how      A team that left or joined counts from 1 % of the cluster's workload on: by weights of
--          cost, less moves the others by less than a hundredth. Where heads count and not cost,
--          every team counts. Another rule, cost view or charge basis always counts. The
--          difference is what the teams that stayed bear of idle, more than before; between two
--          cost views it has no meaning.
WITH
compared AS (
    SELECT
        now.*,
        earlier.billing_period AS period_before,
        earlier.idle_rules AS rules_before,
        earlier.cost_view AS view_before,
        concat(earlier.cost_view, earlier.charge_basis) AS way_before,
        if(now.is_by_cost AND earlier.is_by_cost, 0.01, 0) AS least_part
    FROM cluster_months AS now
    INNER JOIN last_clusters AS earlier USING (provider, cluster_id, billing_currency)
    WHERE now.is_weighed OR earlier.is_weighed
),

changes AS (
    SELECT
        compared.provider,
        compared.cluster_id,
        compared.billing_currency,
        string_agg(team_changes.team, ', ' ORDER BY team_changes.team ASC)
        FILTER (WHERE team_changes.how = 'joined') AS joined,
        string_agg(team_changes.team, ', ' ORDER BY team_changes.team ASC)
        FILTER (WHERE team_changes.how = 'left') AS gone,
        sum(team_changes.idle_moved) FILTER (WHERE team_changes.how = 'stayed') AS moved
    FROM compared
    INNER JOIN team_changes USING (provider, cluster_id, billing_currency)
    WHERE team_changes.how = 'stayed' OR team_changes.part >= compared.least_part
    GROUP BY compared.provider, compared.cluster_id, compared.billing_currency
),

told AS (
    SELECT
        compared.*,
        if(compared.cost_view = compared.view_before, changes.moved, NULL) AS moved,
        concat_ws(
            '; ',
            'joined: ' || changes.joined,
            'left: ' || changes.gone,
            if(
                compared.idle_rules <> compared.rules_before,
                'idle by ' || array_to_string(compared.idle_rules, ' and ') || ', before by '
                || array_to_string(compared.rules_before, ' and '),
                NULL
            ),
            if(
                concat(compared.cost_view, compared.charge_basis) <> compared.way_before,
                'counted in view ' || compared.cost_view || ' and charged by '
                || compared.charge_basis || ', before not so',
                NULL
            )
        ) AS words
    FROM compared
    LEFT JOIN changes USING (provider, cluster_id, billing_currency)
)

SELECT
    billing_period,
    'teams_not_comparable' AS rule,
    'warning' AS severity,
    provider,
    cluster_id,
    'teams'' figures against ' || period_before AS "where",
    'the same teams and the same way of sharing idle' AS expected,
    words AS actual,
    moved::VARCHAR AS difference,
    'a team''s figure moved without its doing; `leerlauf variance ' || period_before || ' '
    || billing_period || '` tells its own change from that of others' AS hint
FROM told
WHERE words <> ''
