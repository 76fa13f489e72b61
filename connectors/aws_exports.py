"""What the exports at a location are set to hold, as AWS Data Exports itself says.

Split cost has to be on in the export's table configuration, and its columns have to be named in
the export's query as well; either alone gives an export without them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.aws_session import Question, client
from connectors.base import ExportSource, Meter
from connectors.places import absolute

TABLE = "COST_AND_USAGE_REPORT"
NEEDS = "bcm-data-exports:ListExports and bcm-data-exports:GetExport"
RESOURCES = "INCLUDE_RESOURCES"
SPLITS = "INCLUDE_SPLIT_COST_ALLOCATION_DATA"
GRANULARITY = "TIME_GRANULARITY"
SPLIT_COLUMNS = tuple(
    f"split_line_item_{name}"
    for name in (
        *("parent_resource_id", "reserved_usage", "actual_usage", "split_usage"),
        *("split_usage_ratio", "split_cost", "unused_cost", "net_split_cost", "net_unused_cost"),
        *("public_on_demand_split_cost", "public_on_demand_unused_cost"),
    )
)


@dataclass(frozen=True)
class ExportSettings:
    """One CUR 2.0 export; `location` is its folder, `status` HEALTHY or UNHEALTHY."""

    name: str
    arn: str
    location: str
    status: str
    query: str
    configuration: Mapping[str, str]

    @property
    def granularity(self) -> str | None:
        """HOURLY, DAILY or MONTHLY; None where AWS does not say."""
        return self.configuration.get(GRANULARITY)

    @property
    def has_resource_ids(self) -> bool:
        """Whether rows name their resource."""
        return self._is_on(RESOURCES)

    @property
    def has_split_cost(self) -> bool:
        """Whether the rows of pods are switched on."""
        return self._is_on(SPLITS)

    @property
    def missing_columns(self) -> tuple[str, ...]:
        """The split columns that the query does not name."""
        selected = re.split(r"\bFROM\b", self.query, maxsplit=1, flags=re.IGNORECASE)[0]
        if re.search(r"(?:SELECT|,)\s*\*", selected, re.IGNORECASE):
            return ()
        named = set(re.findall(r"\w+", selected.lower()))
        return tuple(column for column in SPLIT_COLUMNS if column not in named)

    @property
    def mend(self) -> str | None:
        """The query and the table configuration it should have; None where nothing is missing."""
        wanted = {**self.configuration, RESOURCES: "TRUE", SPLITS: "TRUE"}
        if self.granularity == "MONTHLY":
            wanted[GRANULARITY] = "HOURLY"
        if not self.missing_columns and wanted == self.configuration:
            return None
        return (
            f"update the export {self.name} with\n"
            f"QUERY: {self._whole_query()}\n"
            f"TABLE_CONFIGURATIONS: {json.dumps({TABLE: wanted}, sort_keys=True)}"
        )

    def _is_on(self, name: str) -> bool:
        return self.configuration.get(name, "").upper() == "TRUE"

    def _whole_query(self) -> str:
        more = "".join(f", {column}" for column in self.missing_columns)
        found = re.search(r"\s+FROM\b", self.query, re.IGNORECASE)
        at = found.start() if found else len(self.query)
        return f"{self.query[:at]}{more}{self.query[at:]}"


def inspect(source: ExportSource) -> list[ExportSettings]:
    """Return the settings of the CUR 2.0 exports that deliver to the location, by name.

    None for a location that is no bucket. Raise `DeliveryError` where AWS does not tell.
    """
    if not source.location.lower().startswith("s3://"):
        return []
    meter = Meter()
    service = client(source, "bcm-data-exports", meter)

    listing = Question(source.location, NEEDS, "Exports")
    getting = Question(source.location, NEEDS, "Export")
    told = [
        getting.ask(service.get_export, meter, ExportArn=arn)
        for arn in _arns(listing, service.list_exports, meter)
    ]
    found = [_settings(it["Export"], it.get("ExportStatus", {})) for it in told if _is_cur(it)]
    at = absolute(source.location)
    return sorted(
        (it for it in found if _is_below(it.location, at) or _is_below(at, it.location)),
        key=lambda it: it.name,
    )


def _arns(listing: Question, call: Callable[..., Any], meter: Meter) -> Iterator[str]:
    """Yield the ARN of every export, page by page."""
    more: dict[str, str] = {}
    while True:
        page = listing.ask(call, meter, **more)
        yield from (it["ExportArn"] for it in page["Exports"])
        if not page.get("NextToken"):
            return
        more = {"NextToken": page["NextToken"]}


def _is_cur(told: Mapping[str, Any]) -> bool:
    query = told["Export"]["DataQuery"]
    return TABLE in query.get("TableConfigurations", {}) or TABLE in query["QueryStatement"].upper()


def _settings(export: Mapping[str, Any], status: Mapping[str, Any]) -> ExportSettings:
    to = export["DestinationConfigurations"]["S3Destination"]
    parts: Sequence[str] = (to["S3Bucket"], to.get("S3Prefix", "").strip("/"), export["Name"])
    query = export["DataQuery"]
    return ExportSettings(
        name=export["Name"],
        arn=export["ExportArn"],
        location=f"s3://{'/'.join(part for part in parts if part)}",
        status=str(status.get("StatusCode", "")),
        query=query["QueryStatement"].strip(),
        configuration=dict(query.get("TableConfigurations", {}).get(TABLE, {})),
    )


def _is_below(location: str, above: str) -> bool:
    return f"{location}/".startswith(f"{above}/")
