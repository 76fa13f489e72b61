-- overlaps: which sources bill the same resources on the same days, so that a bill counts twice.
--
-- reads    resource_days
-- returns  a row for each two sources of a provider and each sub account of which one has
--          resources of several days in the other too, or more than half of its resource-days;
--          rows are those of both sources
-- how      a sub account that changes its payer is in both on one day, the day of the change
WITH
days AS (
    SELECT
        provider,
        source,
        sub_account_id,
        lower(resource_id) AS resource_key,
        charge_date,
        sum(row_count) AS row_count
    FROM resource_days
    WHERE resource_id IS NOT NULL
    GROUP BY ALL
),

resources AS (
    SELECT
        provider,
        source,
        resource_key,
        charge_date,
        sum(row_count) AS row_count
    FROM days
    GROUP BY ALL
),

compared AS (
    SELECT
        one.provider,
        one.sub_account_id,
        least(one.source, other.source) AS first_source,
        greatest(one.source, other.source) AS second_source,
        one.source,
        count(*) AS shared,
        count(DISTINCT one.charge_date) AS days_shared,
        sum(one.row_count + other.row_count) AS row_count,
        min(one.charge_date) AS first_day,
        max(one.charge_date) AS last_day
    FROM days AS one
    INNER JOIN resources AS other
        ON
            one.provider = other.provider
            AND one.resource_key = other.resource_key
            AND one.charge_date = other.charge_date
            AND one.source <> other.source
    GROUP BY ALL
),

counted AS (
    SELECT
        provider,
        source,
        sub_account_id,
        count(*) AS pairs
    FROM days
    GROUP BY ALL
)

SELECT
    compared.provider,
    compared.first_source,
    compared.second_source,
    compared.sub_account_id,
    max(compared.shared)::BIGINT AS shared,
    max(compared.row_count)::BIGINT AS row_count,
    min(compared.first_day) AS first_day,
    max(compared.last_day) AS last_day
FROM compared
INNER JOIN counted
    ON
        compared.provider = counted.provider
        AND compared.source = counted.source
        AND compared.sub_account_id IS NOT DISTINCT FROM counted.sub_account_id
GROUP BY ALL
HAVING bool_or(2 * compared.shared > counted.pairs OR compared.days_shared > 1)
ORDER BY ALL
