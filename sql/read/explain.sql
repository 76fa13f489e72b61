-- explain: every posting of one team, and the source files its pool came from.
--
-- reads    postings, pool_rows
--          $team   the team; NULL asks for what no team bears
-- returns  the columns of postings, and source_file (names joined by '; ')
WITH
names AS (
    SELECT DISTINCT
        pool_id,
        unnest(string_split(source_file, '; ')) AS source_file
    FROM pool_rows
),

pool_files AS (
    SELECT
        pool_id,
        string_agg(source_file, '; ' ORDER BY source_file ASC) AS source_file
    FROM names
    GROUP BY pool_id
)

SELECT
    postings.*,
    pool_files.source_file
FROM postings
LEFT JOIN pool_files USING (pool_id)
WHERE postings.team IS NOT DISTINCT FROM $team
ORDER BY ALL
