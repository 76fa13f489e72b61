-- quanta(amount): a DECIMAL(38,12) as the whole number of quanta of 1e-12 it is.
--
-- returns  HUGEINT
-- promise  exact over the whole range of DECIMAL(38,12)
-- how      its digits without the point. `amount * 1000000000000` overflows from 1e14 on, and a
--          detour over DOUBLE is not exact.
CREATE OR REPLACE TEMP MACRO quanta(amount) AS (
    replace(amount::DECIMAL(38, 12)::VARCHAR, '.', '')::HUGEINT
)
