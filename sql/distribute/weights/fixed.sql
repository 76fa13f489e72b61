-- fixed: every participant carries a share that was agreed on.
--
-- reads    participants
-- returns  distribution, claimant, weight   one row each that has a share; above 0
-- use it when   teams have settled the shares among themselves, by budget or contract
-- unfair when   clusters change and the shares do not: who grows pays no more
SELECT
    distribution,
    claimant,
    rule_weight AS weight
FROM participants
WHERE method = 'fixed' AND rule_weight IS NOT NULL
