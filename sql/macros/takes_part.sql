-- takes_part(claimant, teams, excepted): whether a rule lets a claimant take part.
--
-- returns  BOOLEAN. A claimant of NULL is workload without a team: `teams` leaves it out,
--          `excepted` cannot name it.
CREATE OR REPLACE TEMP MACRO takes_part(claimant, teams, excepted) AS (
    (teams IS NULL OR coalesce(list_contains(teams, claimant), FALSE))
    AND NOT coalesce(list_contains(excepted, claimant), FALSE)
)
