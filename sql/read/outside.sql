-- outside: what is on the bills but belongs to no cluster.
--
-- reads    charges
-- returns  provider, reason, billing_currency, amount
SELECT
    provider,
    reason,
    billing_currency,
    sum(cost) AS amount
FROM charges
WHERE row_kind = 'outside'
GROUP BY provider, reason, billing_currency
ORDER BY ALL
