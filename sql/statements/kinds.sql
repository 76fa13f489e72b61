-- kinds: the columns of a statement that add up to its total, in their order.
--
-- returns  kind_position, kind
SELECT
    unnest(range(1, 9)) AS kind_position,
    unnest([
        'workload', 'idle', 'headroom', 'system_overhead', 'cluster_fee', 'shared',
        'unattributed', 'corrections'
    ]) AS kind
