-- idle_has_cause: every idle row says why it stood idle, in a known word; no other row does.
--
-- reads    normalised, settings
-- returns  findings columns; one error per source, row kind and word that does not belong
WITH
offending AS (
    SELECT
        provider,
        source,
        cluster_id,
        row_kind,
        cause,
        count(*) AS row_count
    FROM normalised
    WHERE
        (row_kind = 'idle') <> (cause IS NOT NULL)
        OR cause NOT IN (
            'empty_node', 'stranded', 'fragment', 'minimum_size', 'scale_down_wait', 'rest'
        )
    GROUP BY ALL
)

SELECT
    settings.billing_period,
    'idle_has_cause' AS rule,
    'error' AS severity,
    offending.provider,
    offending.source,
    offending.cluster_id,
    offending.row_kind AS "where",
    if(offending.row_kind = 'idle', 'one of the six causes', 'no cause: it is not idle')
        AS expected,
    offending.row_count || ' rows with ' || coalesce(offending.cause, 'no cause') AS actual,
    'idle by cause does not add up to idle; report this as a defect' AS hint
FROM offending
CROSS JOIN settings
