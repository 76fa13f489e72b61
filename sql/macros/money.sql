-- money(whole): quanta of 1e-12 as the DECIMAL(38,12) they are.
--
-- returns  DECIMAL(38,12)
-- promise  exact; more than 38 digits raise
CREATE OR REPLACE TEMP MACRO money(whole) AS (
    whole::DECIMAL(38, 0) * 0.000000000001
)
