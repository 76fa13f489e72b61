-- comparison: the same statements, had idle and headroom been distributed another way.
--
-- reads    statement_lines, variants
-- returns  the columns of table comparison (transforms/schema.py)
SELECT
    statement_lines.* EXCLUDE (variant),
    variants.method,
    variants."by"
FROM statement_lines
INNER JOIN variants USING (variant)
WHERE variants.kinds IS NOT NULL
