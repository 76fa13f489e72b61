-- pool_rows: what lies in the pools of which one team bears a part.
--
-- reads    postings, pool_places
--          $team   the team; NULL asks for what no team bears
-- returns  pool_id, row_kind, node_pool, node_name, cause, source_file (names joined by '; '),
--          amount
-- promise  the amounts of a pool add up to its pool_amount
-- how      A row lies in the finest pool there is for it: where a rule asks for nodes, only rows
--          without a node are in the node pool's or the cluster's pool. Rows and pools meet by
--          day, cluster, kind and scope in one join, so that no node is compared with others.
WITH
pools AS (
    SELECT
        pool_id,
        scope,
        scope_key,
        charge_date,
        provider,
        cluster_id,
        billing_currency,
        row_kind,
        resource_kind,
        coalesce(reason, '-') AS why,
        coalesce(charge_class, '-') AS class,
        bool_or(team IS NOT DISTINCT FROM $team) AS is_borne
    FROM postings
    WHERE row_kind <> 'workload' OR team IS NOT DISTINCT FROM $team
    GROUP BY ALL
),

finest AS (
    SELECT
        pools.pool_id,
        pools.is_borne,
        pool_places.*
    FROM pool_places
    INNER JOIN pools
        USING (
            charge_date, provider, cluster_id, billing_currency, row_kind, resource_kind, why,
            class, scope, scope_key
        )
    QUALIFY
        pool_places.coarseness = min(pool_places.coarseness) OVER (PARTITION BY pool_places.slice)
)

SELECT
    pool_id,
    row_kind,
    node_pool,
    node_name,
    cause,
    source_file,
    amount
FROM finest
WHERE is_borne
