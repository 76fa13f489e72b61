-- headroom_as_waste: pods that look like placeholders are charged as workload.
--
-- reads    charges, settings
-- returns  findings columns; one warning per cluster and currency
-- how      Placeholders are known by their names: overprovisioning, placeholder, headroom, spare,
--          buffer, reserve or warm capacity somewhere in that of the namespace or the workload,
--          or balloon or pause pods as the whole of it, as the manuals of cluster autoscalers call
--          them. A workload that uses a tenth of the CPU it requests does work, whatever it is
--          called: placeholders sleep. Where use is unknown, the name decides. What [[headroom]]
--          names is headroom by now and no workload.
WITH
named AS (
    SELECT
        provider,
        cluster_id,
        billing_currency,
        namespace,
        workload_name,
        sum(cost) AS cost,
        sum(requested_quantity) FILTER (WHERE resource_kind = 'cpu') AS requested,
        sum(used_quantity) FILTER (WHERE resource_kind = 'cpu') AS used
    FROM charges
    WHERE
        row_kind = 'workload'
        AND resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
        AND regexp_matches(
            concat('/', namespace, '/', workload_name, '/'),
            '[^a-z](over-?provision(er|ers|ing|ed)?|place-?holders?|headroom'
            || '|(spare|buffer|reserve|warm)-(capacity|nodes?|pods?))[^a-z]'
            || '|/(balloons?|pause)(-?(pods?|deploy|deployment))?/',
            'i'
        )
    GROUP BY provider, cluster_id, billing_currency, namespace, workload_name
),

asleep AS (
    SELECT
        *,
        coalesce(namespace, '(no namespace)') AS shown_namespace
    FROM named
    WHERE cost <> 0 AND coalesce(used < requested / 10, TRUE)
)

SELECT
    settings.billing_period,
    'headroom_as_waste' AS rule,
    'warning' AS severity,
    asleep.provider,
    asleep.cluster_id,
    string_agg(
        DISTINCT concat_ws('/', asleep.shown_namespace, asleep.workload_name), ', '
        ORDER BY concat_ws('/', asleep.shown_namespace, asleep.workload_name) ASC
    ) AS "where",
    'headroom: capacity kept free on purpose' AS expected,
    sum(asleep.cost) || ' ' || asleep.billing_currency
    || ' charged as workload; these pods look like placeholders' AS actual,
    sum(asleep.cost)::VARCHAR AS difference,
    'if they only hold capacity free: [[headroom]] placeholder_pods = { namespace = ["'
    || string_agg(DISTINCT asleep.namespace, '", "' ORDER BY asleep.namespace ASC) || '"] }'
        AS hint
FROM asleep
CROSS JOIN settings
GROUP BY
    settings.billing_period, asleep.provider, asleep.cluster_id, asleep.billing_currency
