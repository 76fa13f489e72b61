-- proportional: every participant carries its share of the workload cost.
--
-- reads    participants
-- returns  distribution, claimant, weight   one row each; weight is a cost, 0 or more
-- use it when   idle comes from serving load: who orders more, keeps more nodes alive
-- unfair when   one team's odd pods strand capacity that the others then pay for
SELECT
    distribution,
    claimant,
    CASE "by" WHEN 'total' THEN total_cost ELSE resource_cost END AS weight
FROM participants
WHERE method = 'proportional'
