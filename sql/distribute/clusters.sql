-- clusters: every cluster on the bill, its name, and the team that operates it.
--
-- reads    charges, operators (position, team, cluster: globs on name or id)
-- returns  provider, cluster_id, cluster_name, operator (NULL where none is configured)
-- promise  one row a cluster; the first operator in file order that matches
WITH
named AS (
    SELECT
        provider,
        cluster_id,
        max(cluster_name) AS cluster_name
    FROM charges
    WHERE row_kind <> 'outside'
    GROUP BY provider, cluster_id
),

patterns AS (
    SELECT
        position,
        team,
        unnest(cluster) AS pattern
    FROM operators
)

SELECT
    named.provider,
    named.cluster_id,
    named.cluster_name,
    arg_min(patterns.team, patterns.position) AS operator
FROM named
LEFT JOIN patterns
    ON
        named.cluster_id GLOB patterns.pattern
        OR named.cluster_name GLOB patterns.pattern
GROUP BY named.provider, named.cluster_id, named.cluster_name
