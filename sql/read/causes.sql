-- causes: why each cluster's capacity stood idle, before distribution.
--
-- reads    charges
-- returns  provider, cluster_id, billing_currency, word, amount; the largest amount first. The
--          word is the cause, as in idle_parts: one of storage is told apart (`rest of disks`)
-- promise  the amounts of a cluster add up to its idle
SELECT
    provider,
    cluster_id,
    billing_currency,
    if(resource_kind = 'storage', cause || ' of disks', cause) AS word,
    sum(cost) AS amount
FROM charges
WHERE row_kind = 'idle'
GROUP BY provider, cluster_id, billing_currency, word
ORDER BY provider ASC, cluster_id ASC, billing_currency ASC, amount DESC, word ASC
