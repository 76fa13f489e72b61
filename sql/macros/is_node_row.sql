-- is_node_row(row_kind, resource_kind, split_source): whether a row is a part of what nodes cost.
--
-- returns  BOOLEAN
-- promise  the same rows as `is_node_row` in transforms/node_costs.py: capacity of nodes, idle or
--          split; no disk, no fee, no pod that is billed directly
CREATE OR REPLACE TEMP MACRO is_node_row(row_kind, resource_kind, split_source) AS (
    row_kind IN ('workload', 'idle', 'headroom', 'system_overhead')
    AND resource_kind IN ('cpu', 'memory', 'gpu', 'compute')
    AND (row_kind = 'idle' OR split_source IS NOT NULL)
)
