-- idle_part(workload, idle, headroom, system_overhead): the part of many nodes' cost that is idle.
--
-- returns  DOUBLE
-- promise  an aggregate over rows of `idle_ratio`; NULL where idle is unknown or nodes cost nothing
CREATE OR REPLACE TEMP MACRO idle_part(workload, idle, headroom, system_overhead) AS (
    sum(idle) / nullif(sum(workload) + sum(idle) + sum(headroom) + sum(system_overhead), 0)
)
