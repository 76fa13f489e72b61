-- broken_promises: the findings that forbid publishing.
--
-- reads    findings
-- returns  the columns of table findings: errors of the promises 1 to 4
SELECT *
FROM findings
WHERE severity = 'error' AND regexp_matches(rule, '^promise_[1-4]_')
ORDER BY ALL
