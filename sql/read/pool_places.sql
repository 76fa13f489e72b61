-- pool_places: the cost of a month with each place in whose pool it may lie, the finest first.
--
-- reads    charges
--          $team   whose workload counts; NULL asks for that of nobody
-- returns  slice (a number), coarseness (0 for a node, 1, 2 for a cluster), scope, scope_key, what
--          pools are told apart by (why is the reason, class the charge class, '-' where there
--          is none), node_pool, node_name, cause, source_file (names joined by '; '), amount
-- promise  every cost of a cluster has one slice, all workload of other teams apart
WITH
summed AS (
    SELECT
        charge_period_start AS charge_date,
        provider,
        cluster_id,
        billing_currency,
        row_kind,
        resource_kind,
        coalesce(reason, '-') AS why,
        coalesce(charge_class, '-') AS class,
        node_pool,
        node_name,
        CASE
            WHEN resource_kind IN ('cpu', 'memory', 'gpu', 'compute') AND node_name IS NOT NULL
                THEN resource_id
        END AS node,
        cause,
        source_file,
        sum(cost) AS amount
    FROM charges
    WHERE
        row_kind <> 'outside'
        AND cost IS NOT NULL
        AND (row_kind <> 'workload' OR team IS NOT DISTINCT FROM $team)
    GROUP BY ALL
),

numbered AS (
    SELECT
        *,
        row_number() OVER () AS slice
    FROM summed
)

SELECT
    * EXCLUDE (node),
    unnest(range(3)) AS coarseness,
    unnest(['node', 'node_pool', 'cluster']) AS scope,
    unnest([node, node_pool, cluster_id]) AS scope_key
FROM numbered
