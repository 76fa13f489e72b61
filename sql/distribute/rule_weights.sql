-- rule_weights: what a rule itself gives a claimant to be weighed by, on each day it is in force.
--
-- reads    rules_in_force, clusters
--          allocation_rules   position, shares (of teams; NULL without)
--          metric_values      position (of the rule that reads them), charge_date, cluster (name
--                             or id), team (NULL is workload without a team), value
-- returns  position, provider, cluster_id, charge_date, claimant, rule_weight (0 or more)
-- promise  each claimant once a rule, cluster and day: doubled_values holds it
WITH
days AS (
    SELECT DISTINCT
        position,
        provider,
        cluster_id,
        charge_date
    FROM rules_in_force
),

shares AS (
    SELECT
        position,
        unnest(shares) AS entry
    FROM allocation_rules
)

SELECT
    days.position,
    days.provider,
    days.cluster_id,
    days.charge_date,
    shares.entry.team AS claimant,
    shares.entry.share AS rule_weight
FROM days
INNER JOIN shares USING (position)
UNION ALL
SELECT
    days.position,
    days.provider,
    days.cluster_id,
    days.charge_date,
    metric_values.team,
    metric_values.value
FROM days
INNER JOIN clusters USING (provider, cluster_id)
INNER JOIN metric_values USING (position, charge_date)
WHERE metric_values.cluster IN (clusters.cluster_id, clusters.cluster_name)
