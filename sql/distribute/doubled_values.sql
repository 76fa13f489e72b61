-- doubled_values: metric values that name one cluster twice, once by its name and once by its id.
--
-- reads    rule_weights, allocation_rules
-- returns  allocation_rule, charge_date, cluster_id, team; no row when all is well
SELECT
    allocation_rules.id AS allocation_rule,
    rule_weights.charge_date,
    rule_weights.cluster_id,
    rule_weights.claimant AS team
FROM rule_weights
INNER JOIN allocation_rules USING (position)
GROUP BY
    allocation_rules.id, rule_weights.provider, rule_weights.cluster_id, rule_weights.charge_date,
    rule_weights.claimant
HAVING count(*) > 1
ORDER BY ALL
