-- cluster_quantities: what the workload of a cluster's nodes requested and used in a month.
--
-- reads    charges
-- returns  one row per cluster and currency: provider, cluster_id, billing_currency,
--          requested_cpu, requested_memory, requested_gpu, used_cpu, used_memory
-- promise  NULL as soon as one workload's quantity is unknown: a part is not less than the whole
WITH
workload AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        resource_kind,
        if(count(requested_quantity) = count(*), sum(requested_quantity), NULL) AS requested,
        if(count(used_quantity) = count(*), sum(used_quantity), NULL) AS used
    FROM charges
    WHERE
        row_kind = 'workload'
        AND split_source IS NOT NULL
        AND resource_kind IN ('cpu', 'memory', 'gpu')
    GROUP BY provider, cluster_id, billing_currency, resource_kind
)

SELECT
    provider,
    cluster_id,
    billing_currency,
    max(requested) FILTER (WHERE resource_kind = 'cpu') AS requested_cpu,
    max(requested) FILTER (WHERE resource_kind = 'memory') AS requested_memory,
    max(requested) FILTER (WHERE resource_kind = 'gpu') AS requested_gpu,
    max(used) FILTER (WHERE resource_kind = 'cpu') AS used_cpu,
    max(used) FILTER (WHERE resource_kind = 'memory') AS used_memory
FROM workload
GROUP BY provider, cluster_id, billing_currency
