-- idle_parts: the idle of each cluster, divided in several ways.
--
-- reads    charges
-- returns  provider, cluster_id, billing_currency, part (the name of a column), word (its value;
--          NULL where it is not known), amount; of each part the largest amount first. A cause
--          of storage is told apart: `rest of disks`
-- promise  the amounts of each part add up to the cluster's idle
WITH
parts AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        cost,
        unnest([
            'cause', 'node_pool', 'node_name', 'resource_kind', 'pricing_category', 'charge_date'
        ]) AS part,
        unnest([
            if(resource_kind = 'storage', cause || ' of disks', cause),
            node_pool,
            node_name,
            resource_kind,
            pricing_category,
            charge_period_start::VARCHAR
        ]) AS word
    FROM charges
    WHERE row_kind = 'idle'
)

SELECT
    provider,
    cluster_id,
    billing_currency,
    part,
    word,
    sum(cost) AS amount
FROM parts
GROUP BY provider, cluster_id, billing_currency, part, word
ORDER BY provider ASC, cluster_id ASC, billing_currency ASC, part ASC, amount DESC, word ASC
