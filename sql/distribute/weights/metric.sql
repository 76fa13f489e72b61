-- metric: every participant carries its part of a measured quantity, read from a file.
--
-- reads    participants
-- returns  distribution, claimant, weight   one row each that has a value; 0 or more
-- use it when   the cost follows something that is measured: traffic, requests, log volume
-- unfair when   what is measured does not cause the cost: idle follows what is requested, not
--               what is used
SELECT
    distribution,
    claimant,
    rule_weight AS weight
FROM participants
WHERE method = 'metric' AND rule_weight IS NOT NULL
