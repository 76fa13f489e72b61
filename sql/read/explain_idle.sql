-- explain_idle: from which nodes the idle and headroom came that one team bears a part of.
--
-- reads    postings, pool_rows
--          $team   the team; NULL asks for what no team bears
-- returns  provider, billing_currency, pool_id, node_pool, node_name, cause, amount (of the node
--          in the pool), part (the team's part of it)
-- promise  in each pool the amounts add up to it, and the parts to what the team was given of it
-- how      By largest remainder on quanta, ties by name. Where pool times part would not fit 128
--          bits, amounts are divided by the smallest sufficient power of ten.
WITH
given AS (
    SELECT
        pool_id,
        provider,
        billing_currency,
        quanta(sum(amount)) AS given
    FROM postings
    WHERE team IS NOT DISTINCT FROM $team AND row_kind IN ('idle', 'headroom')
    GROUP BY pool_id, provider, billing_currency
),

nodes AS (
    SELECT
        pool_id,
        node_pool,
        node_name,
        cause,
        sum(amount) AS amount,
        max(length(quanta(abs(sum(amount)))::VARCHAR)) OVER in_pool AS digits
    FROM pool_rows
    WHERE row_kind IN ('idle', 'headroom')
    GROUP BY pool_id, node_pool, node_name, cause
    HAVING sum(amount) <> 0
    WINDOW in_pool AS (PARTITION BY pool_id)
),

weighed AS (
    SELECT
        given.*,
        nodes.* EXCLUDE (pool_id),
        power_of_ten(greatest(nodes.digits + length(abs(given.given)::VARCHAR) - 37, 0)) AS shrink,
        quanta(nodes.amount) // shrink AS weight,
        sum(weight) OVER (PARTITION BY given.pool_id) AS total
    FROM given
    INNER JOIN nodes USING (pool_id)
),

rounded_down AS (
    SELECT
        *,
        CASE
            WHEN total = 0 THEN 0
            ELSE floored(given * weight * sign(total)::HUGEINT, abs(total))
        END AS whole,
        given * weight * sign(total)::HUGEINT - whole * abs(total) AS leftover
    FROM weighed
),

ranked AS (
    SELECT
        *,
        given - sum(whole) OVER (PARTITION BY pool_id) AS missing,
        row_number() OVER (
            PARTITION BY pool_id
            ORDER BY leftover DESC, node_pool ASC, node_name ASC, cause ASC
        ) AS turn
    FROM rounded_down
)

SELECT
    provider,
    billing_currency,
    pool_id,
    node_pool,
    node_name,
    cause,
    amount,
    money(whole + (turn <= missing)::INTEGER) AS part
FROM ranked
ORDER BY ALL
