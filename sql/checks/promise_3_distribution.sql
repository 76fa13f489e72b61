-- promise_3_distribution: every pool is posted, neither more nor less, by every method in use.
--
-- reads    distributions, pools, shares, settings
-- returns  findings columns; one error per pool and method whose postings differ from it
WITH
posted AS (
    SELECT
        distribution,
        sum(amount) AS amount
    FROM shares
    GROUP BY distribution
)

SELECT
    settings.billing_period,
    'promise_3_distribution' AS rule,
    'error' AS severity,
    pools.provider,
    pools.cluster_id,
    concat_ws(' ', distributions.method, distributions."by") || ': ' || pools.pool_id AS "where",
    pools.pool_amount::VARCHAR AS expected,
    coalesce(posted.amount::VARCHAR, 'no posting') AS actual,
    (posted.amount - pools.pool_amount)::VARCHAR AS difference,
    'distribution lost or made money; report this as a defect' AS hint
FROM distributions
CROSS JOIN settings
INNER JOIN pools USING (pool)
LEFT JOIN posted USING (distribution)
WHERE posted.amount IS DISTINCT FROM pools.pool_amount
