-- even: every participant carries the same part.
--
-- reads    participants
-- returns  distribution, claimant, weight   one row each; weight is 1
-- use it when   the cost is there for everyone alike, whatever their size
-- unfair when   teams differ much in size: the smallest pays as much as the largest
SELECT
    distribution,
    claimant,
    1::DECIMAL(38, 12) AS weight
FROM participants
WHERE method = 'even'
