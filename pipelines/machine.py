"""What `--json` prints: the objects of `pipelines.objects`, filled with the rows of a month."""

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter

from pipelines import objects_setup, reference
from pipelines.checked import Examination
from pipelines.errors import ConfigurationError
from pipelines.explaining import Explained
from pipelines.fetching import Fetched
from pipelines.inspecting import Inspection
from pipelines.mistakes import choice
from pipelines.objects import (
    OBJECTS,
    Answer,
    Bridge,
    Cluster,
    Column,
    ComparedTeam,
    Comparison,
    Explanation,
    Failure,
    Finding,
    IdleOfNode,
    Line,
    Method,
    Methods,
    MonthTail,
    Outside,
    Posting,
    Result,
    Schema,
    Team,
)
from pipelines.reading import Month, Row
from pipelines.record import RunRecord
from pipelines.starting import relative

Model = TypeVar("Model", bound=BaseModel)


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what `command --json` prints, also when it fails.

    Raises ConfigurationError for a command there is not.
    """
    model = OBJECTS.get(command)
    if model is None:
        raise ConfigurationError(
            "no such command", where="--json-schema", expected=choice(OBJECTS), got=repr(command)
        )
    if issubclass(model, MonthTail):
        return model.model_json_schema()
    either = TypeAdapter[Any](cast("Any", model | Failure))
    return either.json_schema()


def result(month: Month) -> Result:
    """Return the month by the rules in force."""
    return Result(**_common(month), teams=[_pick(Team, row) for row in month.teams])


def comparison(month: Month) -> Comparison:
    """Return the month under each method."""
    teams = [_pick(ComparedTeam, row) for row in month.comparison]
    return Comparison(**_common(month), teams=teams)


def failed(command: str, billing_period: str | None, findings: list[Row]) -> BaseModel:
    """Return the object of a command that could not do its work."""
    model = OBJECTS.get(command)
    said = [Finding(**finding) for finding in findings]
    if model is None or not issubclass(model, MonthTail):
        return Failure(billing_period=billing_period, status="failed", rows=[], findings=said)
    return model.model_validate(_empty(billing_period) | {"findings": said})


def unpublished(record: RunRecord, broken: list[Row]) -> Result:
    """Return the object of a run that broke a promise: why, and no figure."""
    how = {**_how(record), "findings": [_pick(Finding, row) for row in broken]}
    return Result.model_validate(_empty(record.billing_period) | how)


def explanation(month: str, found: Explained) -> Explanation:
    """Return the postings of one team, and the nodes its idle is from."""
    return Explanation(
        billing_period=month,
        rows=[_pick(Posting, row) for row in found.postings],
        idle=[_pick(IdleOfNode, row) for row in found.idle],
    )


def inspection(found: Inspection, file: Path, next_command: str) -> objects_setup.Inspection:
    """Return what a folder holds, and the configuration that was written for it."""
    rows = [
        objects_setup.FoundSource(
            provider=source.provider,
            source=source.id,
            billing_currency=source.currency,
            dataset=source.dataset,
            location=relative(source.location, file),
            months=source.months,
            metric=source.metric,
            splits=list(source.splits),
            split_location=relative(source.split_location, file) if source.split_location else None,
            clusters=sorted(source.seen.clusters),
            used=source in found.active,
            problem=source.problem,
        )
        for source in found.sources
    ]
    return objects_setup.Inspection(
        billing_period=found.month, file=str(file), next=next_command, rows=rows
    )


def examination(checked: Examination) -> objects_setup.Examination:
    """Return what was checked, the configuration first, then sources, then clusters."""
    names = objects_setup.Check.model_fields
    rows = [
        objects_setup.Check(**{name: getattr(row, name) for name in names}) for row in checked.rows
    ]
    return objects_setup.Examination(billing_period=checked.billing_period, rows=rows)


def fetched(month: str, sources: Iterable[Fetched], now: datetime) -> objects_setup.Fetch:
    """Return the deliveries that lie in the lake now, and what copying them took."""
    rows = [
        objects_setup.FetchedDelivery(
            provider=one.context.provider,
            source=one.context.source,
            billing_currency=None,
            delivery=copied.receipt.delivery,
            holds="split" if copied.is_split else "bill",
            status="new" if copied.is_new else "unchanged",
            files=len(copied.files),
            size=copied.size,
            written=copied.written,
            age=copied.age(now).days,
            bytes=copied.took.bytes,
            calls=copied.took.calls,
            retries=copied.took.retries,
        )
        for one in sources
        for copied in one.deliveries
    ]
    return objects_setup.Fetch(billing_period=month, rows=rows)


def methods(headers: Iterable[reference.Header]) -> Methods:
    """Return the methods in the words of their files."""
    rows = [
        Method(
            method=header.name,
            does=header.does,
            use_it_when=header.parts["use it when"],
            unfair_when=header.parts["unfair when"],
        )
        for header in headers
    ]
    return Methods(billing_period=None, rows=rows)


def schema(columns: Iterable[reference.Column], system_namespaces: Iterable[str]) -> Schema:
    """Return the tables and the default system namespaces."""
    rows = [Column(**column._asdict() | {"unit": column.unit or None}) for column in columns]
    return Schema(billing_period=None, rows=rows, system_namespaces=list(system_namespaces))


def answer(rows: Iterable[Row]) -> Answer:
    """Return the rows of a query as JSON can hold them."""
    return Answer(
        billing_period=None,
        rows=[{name: plain(value) for name, value in row.items()} for row in rows],
    )


def plain(value: Any) -> Any:
    """Return a value of DuckDB as JSON can hold it: without rounding, numbers and null kept."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and isfinite(value):
        return value
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def print_document(document: object) -> None:
    """Print JSON in ASCII, so that no terminal and no encoding stands in its way."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _empty(billing_period: str | None) -> dict[str, Any]:
    unknown = dict.fromkeys(("month_status", "cost_view", "charge_basis"))
    lists: dict[str, Any] = {
        name: [] for name in ("clusters", "outside", "teams", "reconciliation", "findings")
    }
    return {"billing_period": billing_period, "status": "failed", **unknown, **lists}


def _how(record: RunRecord) -> dict[str, Any]:
    report = record.configuration["report"]
    return {
        "billing_period": record.billing_period,
        "status": record.status,
        "month_status": record.month_status,
        "cost_view": report["cost_view"],
        "charge_basis": report["charge_basis"],
    }


def _common(month: Month) -> dict[str, Any]:
    return {
        **_how(month.record),
        "clusters": [_pick(Cluster, row) for row in month.clusters],
        "outside": [_pick(Outside, row) for row in month.outside],
        "reconciliation": list(_bridges(month.bridges)),
        "findings": [_pick(Finding, row) for row in month.findings],
    }


def _bridges(lines: list[Row]) -> Iterator[Bridge]:
    keys = ("provider", "cluster_id", "billing_currency", "resource_kind", "provider_class")
    for _, group in groupby(lines, key=itemgetter(*keys)):
        first, *between, last = group
        yield Bridge(
            **{name: first[name] for name in keys if name in Bridge.model_fields},
            provider_idle=first["amount"],
            lines=[Line(name=line["name"], amount=line["amount"]) for line in between],
            idle=last["amount"],
        )


def _pick(model: type[Model], row: Row) -> Model:
    """Return the columns of `row` that the model has."""
    return model(**{name: row[name] for name in model.model_fields})
