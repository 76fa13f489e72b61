"""The month as a Prefect flow: what it adds is a schedule, retries and a place to look.

The work is in `pipelines.month`, which knows nothing of a scheduler. The lake is the result:
Prefect keeps no data, only the state of each run. The only module that imports Prefect.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE

from pipelines import config as configuration
from pipelines import month as months
from pipelines import periods
from pipelines.errors import UNREADABLE

RETRY_DELAYS_SECONDS = (60, 600)


def month_before(moment: datetime) -> str:
    """Return the month (YYYY-MM) before that of `moment`."""
    return f"{moment.replace(day=1) - timedelta(days=1):%Y-%m}"


def may_pass(_task: Any, _run: Any, state: Any) -> bool:
    """Tell whether a failure may be gone on the next try: an unreachable disk, a held lock.

    Wrong configuration and a month without a delivery (exit code 2) stay what they are.
    """
    error = state.result(raise_on_failure=False)
    return isinstance(error, OSError) or getattr(error, "exit_code", None) == UNREADABLE


def message(error: Exception) -> str:
    """Return all parts of an error: what, and where, expected, got, what to do, if it says so."""
    lines = []
    for problem in getattr(error, "problems", (error,)):
        parts = {name: getattr(problem, name, "") for name in ("where", "expected", "got", "hint")}
        lines += [str(problem), *(f"  {name}: {text}" for name, text in parts.items() if text)]
    return "\n".join(lines)


@task(
    retries=len(RETRY_DELAYS_SECONDS),
    retry_delay_seconds=list(RETRY_DELAYS_SECONDS),
    retry_condition_fn=may_pass,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def run_month(month: str, config: str) -> str:
    """Run one month and return the status of the run: ok or findings.

    Raises what `pipelines.month` raises, and RuntimeError where the books do not balance; then
    nothing was published.
    """
    logger = get_run_logger()
    try:
        outcome = months.run(configuration.load(Path(config)), month, progress=logger.info)
    except Exception as error:
        logger.error(message(error))  # noqa: TRY400 -- Prefect logs the traceback
        raise
    for finding in outcome.broken:
        logger.error("%s", finding)
    if outcome.broken:
        raise RuntimeError(f"the books of {month} do not balance: nothing was published")
    record = outcome.record
    logger.info("run %s of %s: %s", record.run, month, record.status)
    return record.status


@flow(name="monthly-chargeback", persist_result=False)
def monthly_chargeback(month: str | None = None, config: str = "leerlauf.toml") -> str:
    """Charge back one month (YYYY-MM): without one, that before the day the run was due, UTC.

    `config` is relative to the folder the deployment was made in.
    """
    due = runtime.flow_run.scheduled_start_time.astimezone(UTC)
    return run_month(periods.parse(month or month_before(due), datetime.now(UTC).date()), config)
