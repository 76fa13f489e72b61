-- charges: every normalised row with its one cost, in the cost view the month was run with.
--
-- reads    normalised, settings
-- returns  the columns of normalised, and cost (billing currency)
-- promise  the only place that chooses a cost view. A row that lacks the view has cost NULL:
--          it never takes the other view's amount (check promise_9 reports it).
SELECT
    normalised.*,
    CASE settings.cost_view
        WHEN 'effective' THEN normalised.effective_cost
        WHEN 'billed' THEN normalised.billed_cost
    END AS cost
FROM normalised
CROSS JOIN settings
