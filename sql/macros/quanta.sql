-- quanta(amount): a DECIMAL(38,12) as the whole number of quanta of 1e-12 it is.
--
-- returns  HUGEINT
-- promise  exact over the whole range of DECIMAL(38,12)
-- how      whole units and the rest are scaled apart: `amount * 1000000000000` alone overflows
--          from 1e14 on, and a detour over DOUBLE is not exact.
CREATE OR REPLACE TEMP MACRO quanta(amount) AS (
    trunc(amount)::HUGEINT * 1000000000000::HUGEINT
    + ((amount - trunc(amount)) * 1000000000000)::HUGEINT
)
