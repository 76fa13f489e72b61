-- rules_alone: the one way in which a month is distributed that is only asked for its postings.
--
-- returns  the columns of variants
-- promise  the rules in force, and nothing to compare them with
SELECT
    0 AS position,
    'rules' AS variant,
    NULL::VARCHAR[] AS kinds,
    NULL::VARCHAR AS method,
    NULL::VARCHAR AS "by"
