-- distributions: the ways of distributing a pool that some variant needs, each once.
--
-- reads    assignments
-- returns  distribution, pool, method, by
SELECT DISTINCT
    distribution,
    pool,
    method,
    "by"
FROM assignments
