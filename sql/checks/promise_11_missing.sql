-- promise_11_missing: what is not known is NULL, what is known is not.
--
-- reads    normalised, blind_spots, statement_lines, settings
-- returns  findings columns; one error per variant, cluster and kind that shows a figure nobody
--          can know or hides a known one, and one per source and column with empty text
WITH
shown AS (
    SELECT
        variant,
        provider,
        cluster_id,
        unnest(['workload', 'idle', 'headroom']) AS row_kind,
        unnest([workload, idle, headroom]) AS amount
    FROM statement_lines
),

empty_texts AS (
    SELECT
        provider,
        source,
        unnest([
            'team', 'cluster_id', 'cluster_name', 'node_pool', 'node_name', 'namespace',
            'resource_id', 'reason'
        ]) AS column_name,
        unnest([
            team, cluster_id, cluster_name, node_pool, node_name, namespace, resource_id, reason
        ]) AS cell
    FROM normalised
    WHERE
        '' IN (
            team, cluster_id, cluster_name, node_pool, node_name, namespace, resource_id, reason
        )
),

offending AS (
    SELECT
        shown.provider,
        shown.cluster_id,
        concat_ws(', ', 'variant ' || shown.variant, shown.row_kind) AS place,
        if(any_value(blind_spots.kinds) IS NULL, 'a figure', 'NULL: nobody can know it')
            AS expected,
        count(shown.amount) || ' of ' || count(*) || ' lines have a figure' AS actual
    FROM shown
    LEFT JOIN blind_spots
        ON
            shown.provider = blind_spots.provider
            AND shown.cluster_id = blind_spots.cluster_id
            AND list_contains(blind_spots.kinds, shown.row_kind)
    GROUP BY shown.variant, shown.provider, shown.cluster_id, shown.row_kind
    HAVING count(shown.amount) <> if(any_value(blind_spots.kinds) IS NULL, count(*), 0)
    UNION ALL BY NAME
    SELECT
        provider,
        source,
        column_name AS place,
        'NULL where a value is missing' AS expected,
        count(*) || ' rows with empty text' AS actual
    FROM empty_texts
    WHERE cell = ''
    GROUP BY provider, source, column_name
)

SELECT
    settings.billing_period,
    'promise_11_missing' AS rule,
    'error' AS severity,
    offending.provider,
    offending.source,
    offending.cluster_id,
    offending.place AS "where",
    offending.expected,
    offending.actual,
    'missing is not zero; report this as a defect' AS hint
FROM offending
CROSS JOIN settings
