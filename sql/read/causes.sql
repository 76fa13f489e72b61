-- causes: why each cluster's capacity stood idle, before distribution.
--
-- reads    charges
-- returns  provider, cluster_id, billing_currency, cause, amount; the largest amount first
-- promise  the amounts of a cluster add up to its idle
SELECT
    provider,
    cluster_id,
    billing_currency,
    cause,
    sum(cost) AS amount
FROM charges
WHERE row_kind = 'idle'
GROUP BY provider, cluster_id, billing_currency, cause
ORDER BY provider ASC, cluster_id ASC, billing_currency ASC, amount DESC, cause ASC
