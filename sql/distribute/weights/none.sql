-- none: nobody claims anything, so the pool stays with the operator.
--
-- reads    participants
-- returns  distribution, claimant, weight; no row
-- use it when   capacity is the platform's decision, or teams cannot act on idle
-- unfair when   the operator's budget is not meant to carry what teams over-order
SELECT
    distribution,
    claimant,
    total_cost AS weight
FROM participants
WHERE FALSE
