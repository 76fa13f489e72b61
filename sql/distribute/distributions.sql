-- distributions: the ways of distributing a pool that some variant needs, each once.
--
-- reads    assignments
-- returns  distribution, pool, method (that gives the weights), by
SELECT DISTINCT
    distribution,
    pool,
    weighed_by AS method,
    "by"
FROM assignments
