-- half_even(whole, unit): `whole` in units above 0, rounded to the nearest, ties to even.
--
-- returns  HUGEINT; NULL where the unit is 0
-- how      by integers alone, so that a quantity times a price is rounded once
CREATE OR REPLACE TEMP MACRO half_even(whole, unit) AS (
    floored(whole, unit) + CASE
        WHEN 2 * (whole - floored(whole, unit) * unit) = unit
            THEN abs(floored(whole, unit) % 2)
        ELSE (2 * (whole - floored(whole, unit) * unit) > unit)::INTEGER
    END
)
