-- minor_units: decimal places of the currencies that have not two (ISO 4217).
--
-- returns  billing_currency, places
SELECT
    unnest(string_split(currencies, ' ')) AS billing_currency,
    places
FROM (
    VALUES
    (0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
    (3, 'BHD IQD JOD KWD LYD OMR TND'),
    (4, 'CLF UYW')
) AS exceptions (places, currencies) -- noqa: AL05
