"""Which table of BigQuery can be the source, and what it is asked: SQL, and nothing is sent."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from connectors.errors import WRONG_USE, DeliveryError

if TYPE_CHECKING:
    from google.cloud.bigquery import Table

NEEDED = tuple(
    "invoice cost_type service sku usage_start_time project labels resource cost currency credits"
    " export_time".split()
)
OPTIONAL = tuple(
    "billing_account_id usage_end_time system_labels location cost_at_list usage adjustment_info"
    " consumption_model subscription".split()
)
"""The columns that are asked for; an older table lacks some of the optional ones."""

DETAILED = "gcp_billing_export_resource_v1_<account>"
BEFORE_THE_MONTH = timedelta(days=5)
NEWEST = "MAX(export_time) AS newest, COUNT(*) AS found"

_STANDARD = "the standard export: only the detailed one splits clusters by namespace"
_RESELLER = "a reseller's export: its rows are those of many payers, in other columns"
_PARTITIONS = ("_PARTITIONTIME", "export_time")
"""What a table may be partitioned by so that no row of a month lies before its window."""


@dataclass(frozen=True)
class Question:
    """One invoice month (YYYY-MM) of a table that is the right one."""

    table: "Table"
    month: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that this table has of those that are read."""
        names = {field.name for field in self.table.schema}
        return tuple(name for name in (*NEEDED, *OPTIONAL) if name in names)

    @property
    def partition(self) -> str | None:
        """What the table is partitioned by; None for a view, which can have no such column."""
        by = self.table.time_partitioning
        column = (by.field or _PARTITIONS[0]) if by else None
        return column if column in _PARTITIONS else None

    @property
    def invoice_month(self) -> str:
        """The month as invoices write it."""
        return self.month.replace("-", "")

    @property
    def since(self) -> datetime:
        """The first partition that may hold a row of the month."""
        first = datetime.fromisoformat(f"{self.month}-01").replace(tzinfo=UTC)
        return first - BEFORE_THE_MONTH

    def newest(self) -> str:
        """The SQL that tells the newest `export_time` and the number of rows."""
        return self._sql(NEWEST)

    def rows(self) -> str:
        """The SQL that selects the rows up to the newest `export_time`."""
        return f"{self._sql(', '.join(self.columns))} AND export_time <= @until"

    def _sql(self, selected: str) -> str:
        table = self.table
        window = f" AND {self.partition} >= @since" if self.partition else ""
        return (
            f"SELECT {selected} FROM `{table.project}.{table.dataset_id}.{table.table_id}`"
            f" WHERE invoice.month = @month{window}"
        )


def refuse_name(location: str) -> None:
    """Raise `DeliveryError` (exit code 2) where the name is none of a detailed table."""
    table = location.rsplit(".", maxsplit=1)[-1]
    reasons = (
        ("*" in table, "a wildcard may match the standard and the detailed table: a doubled bill"),
        ("$" in table, "one partition: the rows of an invoice come on many days"),
        (table.startswith("gcp_billing_export_v1_"), _STANDARD),
        (table.startswith("reseller_billing_detailed_export_v1"), _RESELLER),
    )
    for applies, reason in reasons:
        if applies:
            raise _not_the_one(location, reason)


def refuse_schema(location: str, table: "Table") -> None:
    """Raise `DeliveryError` (exit code 2) where the columns are none of a detailed export."""
    names = {field.name for field in table.schema}
    missing = [name for name in NEEDED if name not in names]
    if names & {"payer_billing_account_id", "adjustmentsInfo"}:
        raise _not_the_one(location, _RESELLER)
    if missing == ["resource"]:
        raise _not_the_one(location, f"no column resource, as in {_STANDARD}")
    if missing:
        raise _not_the_one(location, f"no column {', '.join(missing)}")


def _not_the_one(location: str, reason: str) -> DeliveryError:
    return DeliveryError(
        "this table cannot be the source",
        exit_code=WRONG_USE,
        where=location,
        expected=f"the detailed table, {DETAILED}, or a view with its columns",
        got=reason,
        hint="name that table as `location`, or a folder or gs:// prefix it was exported to",
    )
