-- floored(whole, unit): how many units lie at or below `whole`, also below zero.
--
-- returns  HUGEINT
-- how      `//` truncates towards zero, which would give a negative amount a negative rest.
CREATE OR REPLACE TEMP MACRO floored(whole, unit) AS (
    whole // unit - (whole % unit < 0)::INTEGER
)
