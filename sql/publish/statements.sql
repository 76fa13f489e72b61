-- statements: what each team is shown, by the rules in force.
--
-- reads    statement_lines
-- returns  the columns of table statements (transforms/schema.py)
SELECT * EXCLUDE (variant)
FROM statement_lines
WHERE variant = 'rules'
