-- explain: every posting of one team, and the source files its pool came from.
--
-- reads    postings, normalised
--          $team   the team; NULL asks for what no team bears
-- returns  the columns of postings, and source_file (names joined by '; ')
-- how      a row lies in the finest pool there is for it: where a rule asks for nodes, only rows
--          without a node are in the node pool's or the cluster's pool
WITH
pools AS (
    SELECT DISTINCT
        * EXCLUDE (
            billing_period, team, method, allocation_rule, weight, weight_total, pool_amount,
            amount, note
        ),
        CASE row_kind WHEN 'workload' THEN team END AS own_team
    FROM postings
),

slices AS (
    SELECT
        *,
        row_number() OVER () AS slice
    FROM normalised
    WHERE row_kind <> 'outside'
),

candidates AS (
    SELECT
        pools.pool_id,
        slices.slice,
        slices.source_file,
        CASE pools.scope WHEN 'node' THEN 1 WHEN 'node_pool' THEN 2 ELSE 3 END AS coarseness
    FROM pools
    INNER JOIN slices
        ON
            pools.charge_date = slices.charge_period_start
            AND pools.provider = slices.provider
            AND pools.cluster_id = slices.cluster_id
            AND pools.billing_currency = slices.billing_currency
            AND pools.row_kind = slices.row_kind
            AND pools.resource_kind = slices.resource_kind
            AND pools.reason IS NOT DISTINCT FROM slices.reason
            AND pools.charge_class IS NOT DISTINCT FROM slices.charge_class
            AND (pools.row_kind <> 'workload' OR pools.own_team IS NOT DISTINCT FROM slices.team)
    WHERE
        pools.scope = 'cluster'
        OR (pools.scope = 'node_pool' AND pools.scope_key = slices.node_pool)
        OR (pools.scope = 'node' AND pools.scope_key = slices.resource_id)
),

finest AS (
    SELECT
        arg_min(pool_id, coarseness) AS pool_id,
        unnest(string_split(any_value(source_file), '; ')) AS source_file
    FROM candidates
    GROUP BY slice
),

pool_files AS (
    SELECT
        pool_id,
        string_agg(DISTINCT source_file, '; ' ORDER BY source_file ASC) AS source_file
    FROM finest
    GROUP BY pool_id
)

SELECT
    postings.*,
    pool_files.source_file
FROM postings
LEFT JOIN pool_files USING (pool_id)
WHERE postings.team IS NOT DISTINCT FROM $team
ORDER BY ALL
