-- rules_in_force: the one allocation rule for each row kind, cluster and day.
--
-- reads    daily_costs, clusters
--          allocation_rules   position, id, kinds, method, scope, by, cluster (globs on name or
--                             id), valid_from, valid_to (exclusive; NULL is open), fallback
-- returns  row_kind, provider, cluster_id, charge_date, position (of the rule; NULL without one),
--          allocation_rule, method, by, asked_scope, fallback
-- promise  one row per kind, cluster and day: the first rule in file order that matches, else
--          `default`, method none. No rule reaches workload or unattributed.
WITH
asked AS (
    SELECT DISTINCT
        row_kind,
        provider,
        cluster_id,
        charge_date
    FROM daily_costs
),

patterns AS (
    SELECT
        position,
        kinds,
        valid_from,
        valid_to,
        unnest(cluster) AS pattern
    FROM allocation_rules
),

first_matches AS (
    SELECT
        asked.row_kind,
        asked.provider,
        asked.cluster_id,
        asked.charge_date,
        min(patterns.position) AS position
    FROM asked
    INNER JOIN clusters USING (provider, cluster_id)
    LEFT JOIN patterns
        ON
            asked.row_kind NOT IN ('workload', 'unattributed')
            AND list_contains(patterns.kinds, asked.row_kind)
            AND asked.charge_date >= coalesce(patterns.valid_from, '-infinity'::DATE)
            AND asked.charge_date < coalesce(patterns.valid_to, 'infinity'::DATE)
            AND (
                clusters.cluster_id GLOB patterns.pattern
                OR clusters.cluster_name GLOB patterns.pattern
            )
    GROUP BY asked.row_kind, asked.provider, asked.cluster_id, asked.charge_date
)

SELECT
    first_matches.row_kind,
    first_matches.provider,
    first_matches.cluster_id,
    first_matches.charge_date,
    first_matches.position,
    allocation_rules."by",
    allocation_rules.fallback,
    coalesce(allocation_rules.id, 'default') AS allocation_rule,
    coalesce(allocation_rules.method, 'none') AS method,
    coalesce(allocation_rules.scope, 'cluster') AS asked_scope
FROM first_matches
LEFT JOIN allocation_rules USING (position)
