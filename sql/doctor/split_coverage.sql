-- split_coverage: which part of a cluster's node cost somebody split by workload, day by day.
--
-- reads    examined
-- returns  columns of a check and the step that mends it; one row for each run of days that are
--          alike: all of it split, a part, or nothing
-- promise  every day with node cost is in one row; days without it interrupt no run
WITH
days AS (
    SELECT
        provider,
        source,
        cluster_id,
        billing_currency,
        charge_date,
        sum(cost) AS node_cost,
        coalesce(sum(cost) FILTER (
            WHERE
            row_kind <> 'unattributed'
            OR reason NOT IN ('no_split_source', 'split_gap', 'unclassified')
        ), 0) AS split_cost,
        string_agg(DISTINCT split_source, ' and ' ORDER BY split_source ASC) AS split_source
    FROM examined
    WHERE
        row_kind IN ('workload', 'idle', 'headroom', 'system_overhead', 'unattributed')
        AND resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
    GROUP BY ALL
),

states AS (
    SELECT
        *,
        CASE split_cost
            WHEN node_cost THEN 'all'
            WHEN 0 THEN 'nothing'
            ELSE 'a part'
        END AS state
    FROM days
),

runs AS (
    SELECT
        *,
        row_number() OVER cluster_days - row_number() OVER alike AS run
    FROM states
    WINDOW
        cluster_days AS (
            PARTITION BY provider, source, cluster_id, billing_currency
            ORDER BY charge_date ASC
        ),
        alike AS (
            PARTITION BY provider, source, cluster_id, billing_currency, state, split_source
            ORDER BY charge_date ASC
        )
)

SELECT
    provider,
    source,
    billing_currency,
    cluster_id,
    if(state = 'all', 'ok', 'warning') AS status,
    CASE state WHEN 'nothing' THEN 'split_coverage' WHEN 'a part' THEN 'split_gap' END AS step,
    concat_ws(
        ', ',
        CASE state
            WHEN 'all' THEN '100.0'
            ELSE floor(1000 * sum(split_cost) / nullif(sum(node_cost), 0)) / 10
        END || ' % of '
        || round(sum(node_cost), 2)::DECIMAL(38, 2) || ' ' || billing_currency || ' node cost',
        'by ' || split_source,
        min(charge_date)
        || if(count(*) > 1, ' to ' || max(charge_date) || ', ' || count(*) || ' days', '')
    ) AS actual,
    'all node cost split by workload, every day' AS expected
FROM runs
GROUP BY provider, source, billing_currency, cluster_id, state, split_source, run
ORDER BY provider, source, cluster_id, billing_currency, min(charge_date)
