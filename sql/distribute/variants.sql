-- variants: the ways in which the month is distributed.
--
-- returns  position, variant, kinds, method, by
--          kinds   the row kinds a variant forces to its method; NULL for the rules in force
-- promise  `rules` is what is published; the others are the comparison
SELECT *
FROM (
    VALUES
    (0, 'rules', NULL, NULL, NULL),
    (1, 'none', ['idle', 'headroom'], 'none', NULL),
    (2, 'even', ['idle', 'headroom'], 'even', NULL),
    (3, 'proportional by resource', ['idle', 'headroom'], 'proportional', 'resource'),
    (4, 'proportional by total', ['idle', 'headroom'], 'proportional', 'total')
) AS variants (position, variant, kinds, method, "by") -- noqa: AL05
