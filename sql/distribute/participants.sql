-- participants: who takes part in each distribution, and what its method may weigh them by.
--
-- reads    distributions, entitled
-- returns  distribution, method, by, claimant, resource_cost, total_cost, rule_weight
-- promise  each claimant once a distribution. `none` asks nobody.
SELECT
    distributions.distribution,
    distributions.method,
    distributions."by",
    entitled.* EXCLUDE (pool)
FROM distributions
INNER JOIN entitled USING (pool)
WHERE distributions.method <> 'none'
