-- power_of_ten(exponent): 10 to the power of a whole number from 0 to 38.
--
-- returns  HUGEINT
-- promise  exact; `10 ** exponent` is a DOUBLE
CREATE OR REPLACE TEMP MACRO power_of_ten(exponent) AS (
    rpad('1', exponent::INTEGER + 1, '0')::HUGEINT
)
