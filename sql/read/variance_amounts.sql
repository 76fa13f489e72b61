-- variance_amounts: what each team bore of each row kind and resource, corrections apart.
--
-- reads    postings
-- returns  provider, billing_currency, cluster_id, team, kind, resource_kind, amount
--          kind   the row kind; `corrections` for all postings that have a charge class
-- promise  sums are those of postings
SELECT
    provider,
    billing_currency,
    cluster_id,
    team,
    if(charge_class IS NULL, row_kind, 'corrections') AS kind,
    resource_kind,
    sum(amount) AS amount
FROM postings
GROUP BY ALL
