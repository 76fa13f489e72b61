"""Raw rows of Google's detailed export for tests, built from the few cells a test is about."""

import csv
import datetime as dt
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from pipelines.exports import open_relation, scan
from pipelines.providers import PROVIDERS
from transforms.gcp import bill_columns, combine, slice_file
from transforms.sliced import Context, Sliced

Row = dict[str, Any]

PAIRS = pl.List(pl.Struct({"key": pl.String(), "value": pl.String()}))
SCHEMA: dict[str, pl.DataType] = {
    "billing_account_id": pl.String(),
    "service": pl.Struct({"id": pl.String(), "description": pl.String()}),
    "sku": pl.Struct({"id": pl.String(), "description": pl.String()}),
    "usage_start_time": pl.Datetime("us", "UTC"),
    "usage_end_time": pl.Datetime("us", "UTC"),
    "project": pl.Struct({"id": pl.String(), "number": pl.String(), "labels": PAIRS}),
    "labels": PAIRS,
    "system_labels": PAIRS,
    "location": pl.Struct({"location": pl.String(), "region": pl.String()}),
    "resource": pl.Struct({"name": pl.String(), "global_name": pl.String()}),
    "cost": pl.Float64(),
    "cost_at_list": pl.Float64(),
    "currency": pl.String(),
    "usage": pl.Struct(
        {
            "amount": pl.Float64(),
            "unit": pl.String(),
            "amount_in_pricing_units": pl.Float64(),
            "pricing_unit": pl.String(),
        }
    ),
    "credits": pl.List(pl.Struct({"id": pl.String(), "type": pl.String(), "amount": pl.Float64()})),
    "invoice": pl.Struct({"month": pl.String()}),
    "cost_type": pl.String(),
    "adjustment_info": pl.Struct({"id": pl.String(), "mode": pl.String(), "type": pl.String()}),
    "consumption_model": pl.Struct({"id": pl.String(), "description": pl.String()}),
    "export_time": pl.Datetime("us", "UTC"),
}
CLUSTER = "acme-shop-prod/us-central1/shop-std"
IN_CLUSTER = {
    "goog-fleet-project": "",
    "goog-k8s-cluster-location": "us-central1",
    "goog-k8s-cluster-name": "shop-std",
}
START = dt.datetime(2026, 10, 5, 10, tzinfo=dt.UTC)
COMPUTE = {"id": "6F81-5844-456A", "description": "Compute Engine"}
KUBERNETES = {"id": "CCD8-9BF1-090E", "description": "Kubernetes Engine"}
NODE = "projects/481516234200/instances/gke-shop-std-pool-a-0f1e2d3c-k9x2"


def row(
    description: str = "N2 Instance Core running in Americas", cost: float = 1.0, **cells: Any
) -> Row:
    """A row of October outside any cluster; `labels` and `credits` as dictionaries."""
    base: Row = {
        "service": COMPUTE,
        "sku": {"id": f"id of {description}", "description": description},
        "usage_start_time": START,
        "project": {"id": "acme-shop-prod", "number": "481516234200"},
        "location": {"location": "us-central1-a", "region": "us-central1"},
        "labels": {},
        "system_labels": {},
        "cost": cost,
        "currency": "USD",
        "usage": {"amount": 3600.0, "unit": "seconds"},
        "credits": {},
        "invoice": {"month": "202610"},
        "cost_type": "regular",
        "export_time": START + dt.timedelta(hours=9),
    }
    made = base | cells
    for name in ("labels", "system_labels"):
        made[name] = [{"key": key, "value": value} for key, value in made[name].items()]
    made["credits"] = [{"type": kind, "amount": amount} for kind, amount in _pairs(made["credits"])]
    return made


def _pairs(paid: Mapping[str, float] | Iterable[tuple[str | None, float]]) -> Any:
    return paid.items() if isinstance(paid, Mapping) else paid


def of_cluster(namespace: str | None = None, cost: float = 1.0, **cells: Any) -> Row:
    """A row of the cluster CLUSTER, by default a core of NODE; `labels` are added to its own."""
    own = {} if namespace is None else {"k8s-namespace": namespace}
    labels = IN_CLUSTER | {"goog-k8s-node-pool-name": "pool-a"} | own | cells.pop("labels", {})
    resource = {"name": NODE, "global_name": f"//compute.googleapis.com/{NODE}"}
    return row(**({"cost": cost, "labels": labels, "resource": resource} | cells))


def raw(*rows: Row) -> pl.DataFrame:
    """Rows as one Parquet file of the export."""
    return pl.DataFrame([_complete(made) for made in rows], schema=SCHEMA)


def _complete(made: Row) -> Row:
    return {name: made.get(name) for name in SCHEMA}


def sliced(
    *files: pl.DataFrame | pl.LazyFrame, labels: Sequence[str] = (), **context: Any
) -> Sliced:
    """Files of one delivery through the whole transform."""
    about = Context("gcp", "prod", "gke_detailed", "2026-10", tuple(labels))
    about = Context(**{**about.__dict__, **context})
    parts: dict[str, list[pl.LazyFrame]] = {}
    for number, frame in enumerate(files, start=1):
        for name, part in slice_file(frame.lazy(), about).items():
            named = part.with_columns(source_file=pl.lit(f"file-{number}"))
            parts.setdefault(name, []).append(named)
    return combine({name: pl.concat(part) for name, part in parts.items()}, about)


def kinds(result: Sliced) -> dict[tuple[str, str | None, str], str]:
    """Amounts per row kind, reason and resource kind, as text; zero amounts are left out."""
    summed = (
        result.slices.group_by("row_kind", "reason", "resource_kind")
        .agg(pl.col("effective_cost").sum())
        .filter(pl.col("effective_cost") != 0)
    )
    return {
        (kind, reason, resource): f"{amount.normalize():f}"
        for kind, reason, resource, amount in sorted(summed.iter_rows(), key=str)
    }


def found(result: Sliced) -> list[tuple[Any, ...]]:
    """Findings as rule, severity, where and actual."""
    return result.findings.select("rule", "severity", "where", "actual").rows()


# ---------------------------------------------------------------- forms


def write(folder: Path, form: str, *rows: Row) -> Path:
    """Write rows as a file in one of the forms of the export, and return its path."""
    frame = raw(*rows)
    path = folder / f"part-0{_SUFFIX[form]}"
    match form:
        case "parquet":
            frame.write_parquet(path)
        case "json" | "json-gzip":
            lines = [json.dumps(_json(made)) for made in frame.to_dicts()]
            _text(path, "\n".join(lines) + "\n")
        case _:
            _text(path, _csv(frame.to_dicts(), form))
    return path


_SUFFIX = {
    "parquet": ".parquet",
    "json": ".jsonl",
    "json-gzip": ".json.gz",
    "csv-json": ".csv",
    "csv-python": ".csv.gz",
    "csv-nested": ".nested.csv",
}
FORMS = tuple(_SUFFIX)


def _text(path: Path, text: str) -> None:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


def _json(value: Any) -> Any:
    """As BigQuery writes it: no nulls, times as text."""
    if isinstance(value, Mapping):
        return {k: _json(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_json(entry) for entry in value]
    return _time(value) if isinstance(value, dt.datetime) else value


def _time(value: dt.datetime) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S UTC")


def _csv(rows: list[Row], form: str) -> str:
    printed = str if form == "csv-python" else json.dumps
    lines = []
    for made in rows:
        cells: Row = {}
        for name, value in made.items():
            if isinstance(value, Mapping) and form != "csv-nested":
                cells |= {f"{name}.{field}": v for field, v in value.items()}
            else:
                cells[name] = value
        lines.append({name: _cell(value, printed) for name, value in cells.items()})
    header = list(dict.fromkeys(name for line in lines for name in line))
    out: list[str] = []
    writer = csv.DictWriter(_Lines(out), header, restval="")
    writer.writeheader()
    writer.writerows(lines)
    return "".join(out)


class _Lines:
    def __init__(self, out: list[str]) -> None:
        self.write = out.append


def _cell(value: Any, printed: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S+00:00")
    return printed(value) if isinstance(value, (list, Mapping)) else value


def scanned(path: Path) -> pl.LazyFrame:
    """A file as `pipelines` hands it to the transform."""
    rows = scan(path)
    assert rows is not None
    return rows


def bill(path: Path) -> list[tuple[Any, ...]]:
    """A file summed by the bill query: class, service, currency, view, rows, amount."""
    con = duckdb.connect()
    relation = open_relation(con, path)
    types = {name: str(dtype) for name, dtype in zip(relation.columns, relation.types, strict=True)}
    columns = bill_columns(types)
    relation.project(", ".join(f"{sql} AS {name}" for name, sql in columns.items())).create_view(
        "raw"
    )
    return con.execute(PROVIDERS["gcp"].bill_query, {"period": "2026-10"}).fetchall()
