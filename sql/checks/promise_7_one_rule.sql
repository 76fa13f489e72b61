-- promise_7_one_rule: each kind, cluster and day was distributed by the first rule that matches.
--
-- reads    postings, clusters, allocation_rules, settings
-- returns  findings columns; one error per kind, cluster and day that followed several rules, or
--          another than the first one in file order that matches
WITH
applied AS (
    SELECT
        provider,
        cluster_id,
        row_kind,
        charge_date,
        string_agg(DISTINCT allocation_rule, ', ' ORDER BY allocation_rule ASC) AS actual
    FROM postings
    GROUP BY provider, cluster_id, row_kind, charge_date
),

matches AS (
    SELECT
        applied.*,
        allocation_rules.position,
        allocation_rules.id
    FROM applied
    INNER JOIN clusters USING (provider, cluster_id)
    INNER JOIN allocation_rules ON list_contains(allocation_rules.kinds, applied.row_kind)
    WHERE
        applied.charge_date >= coalesce(allocation_rules.valid_from, applied.charge_date)
        AND (allocation_rules.valid_to IS NULL OR applied.charge_date < allocation_rules.valid_to)
        AND EXISTS (
            SELECT 1
            FROM unnest(allocation_rules.cluster) AS patterns (pattern)
            WHERE
                clusters.cluster_id GLOB patterns.pattern
                OR clusters.cluster_name GLOB patterns.pattern
        )
),

first_matches AS (
    SELECT
        provider,
        cluster_id,
        row_kind,
        charge_date,
        arg_min(id, position) AS expected
    FROM matches
    GROUP BY provider, cluster_id, row_kind, charge_date
)

SELECT
    settings.billing_period,
    'promise_7_one_rule' AS rule,
    'error' AS severity,
    applied.provider,
    applied.cluster_id,
    concat_ws(', ', applied.row_kind, applied.charge_date) AS "where",
    coalesce(first_matches.expected, 'default') AS expected,
    applied.actual,
    'not the first allocation rule that matches was applied; report this as a defect' AS hint
FROM applied
CROSS JOIN settings
LEFT JOIN first_matches USING (provider, cluster_id, row_kind, charge_date)
WHERE applied.actual <> coalesce(first_matches.expected, 'default')
