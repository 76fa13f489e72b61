"""What nodes can allocate, as Kubernetes says it: amounts in cores, GiB and GPUs, 12 places.

`node_documents.py` reads what kubectl writes, `node_tables.py` tables; `snapshots.py` finds the
nodes of the bill. Two things say nothing of a machine on the bill and are left out: nodes of
Fargate, and the GPUs of a node that offers slices of them (then the number of whole ones is 0).
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

import polars as pl

from transforms.errors import InputError
from transforms.money import QUANTUM
from transforms.quantities import LARGEST, LEAST_MEMORY, gib, parse
from transforms.schema import DAY, MONEY, TEXT

INVENTORY = {
    "provider_id": TEXT,
    "node_name": TEXT,
    "taken": DAY,
    "resource_kind": TEXT,
    "allocatable": MONEY,
    "capacity": MONEY,
    "file": TEXT,
}
"""One resource of a node in a snapshot; `taken` is NULL where nothing says when it was taken."""

ALLOCATABLE = {
    "resource_id": TEXT,
    "charge_date": DAY,
    "resource_kind": TEXT,
    "allocatable": MONEY,
    "capacity": MONEY,
    "file": TEXT,
}
"""What one node of the bill could allocate on a day, and what the inventory says it had."""

RAW = {
    "provider_id": TEXT,
    "node_name": TEXT,
    "taken": DAY,
    "metric": TEXT,
    "resource": TEXT,
    "text": TEXT,
}
"""One amount as it was written; metric: allocatable or capacity; resource: letters and '_'."""

_RESOURCES = {
    "cpu": "cpu",
    "memory": "memory",
    "gpu": "gpu",
    "nvidia_com_gpu": "gpu",
    "amd_com_gpu": "gpu",
    "habana_ai_gaudi": "gpu",
    "aws_amazon_com_neuron": "gpu",
}
_SLICES_OF_GPUS = "nvidia_com_mig_"
_FARGATE = "fargate-ip-"
_EXPECTED = {
    "cpu": "cores such as 3.92 or 3920m",
    "memory": "bytes, or memory with its unit such as 14995432Ki",
    "gpu": "GPUs such as 1",
}
_EPOCH = re.compile(r"(\d{9,10})(?:\.\d+)?|(\d{12,13})")
_SHOWN = 5


def nothing_known() -> pl.DataFrame:
    """Return ALLOCATABLE without rows: nobody says what nodes can allocate."""
    return pl.DataFrame(schema=ALLOCATABLE)


def shown(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


# ---------------------------------------------------------------- amounts


def typed(raw: pl.DataFrame, file: str) -> pl.DataFrame:
    """Return INVENTORY of RAW. Raises InputError where no amount is allocatable, or one is none."""
    if raw.filter(metric="allocatable").is_empty():
        raise InputError(
            "a file says not what nodes can allocate",
            where=file,
            expected="allocatable cpu, memory or GPUs",
            got="capacity alone" if raw.height else "nothing of them",
            hint="write it again, or leave the file out of [[nodes]]",
        )
    node = ["provider_id", "node_name", "taken"]
    slices = pl.col("resource").str.starts_with(_SLICES_OF_GPUS) & (pl.col("text") != "0")
    known = raw.with_columns(
        resource_kind=pl.col("resource").replace_strict(_RESOURCES, default=None),
        is_sliced=slices.any().over(node),
    ).filter(
        pl.col("resource_kind").is_not_null(),
        ~(pl.col("is_sliced") & (pl.col("resource_kind") == "gpu")),
        ~pl.col("node_name").str.starts_with(_FARGATE).fill_null(value=False),
    )
    amounts = known.with_columns(amount=_amounts(known, file))
    keys = [*node, "resource_kind"]
    had = amounts.filter(metric="capacity").group_by(keys).agg(capacity=pl.col("amount").max())
    could = amounts.filter(metric="allocatable").select(*keys, allocatable="amount").unique()
    joined = could.join(had, on=keys, how="left", nulls_equal=True)
    return joined.with_columns(file=pl.lit(file)).select(*INVENTORY).sort(pl.all())


def _amounts(known: pl.DataFrame, file: str) -> pl.Series:
    """Return every amount; each text is read once."""
    texts = known.select("resource_kind", "text").unique(maintain_order=True)
    read = []
    for kind, text in texts.rows():
        try:
            read.append(_amount(kind, text))
        except (ValueError, ArithmeticError):
            row = known.filter(resource_kind=kind, text=text).row(0, named=True)
            who = row["node_name"] or row["provider_id"]
            raise InputError(
                "an amount cannot be read",
                where=f"{file}, {row['metric']} {kind} of {who}",
                expected=_EXPECTED[kind] + (", with '.' and not ','" if "," in text else ""),
                got=repr(text),
                hint="nothing was changed; write the file again",
            ) from None
    amounts = texts.with_columns(pl.Series("amount", read, dtype=MONEY))
    joined = known.join(amounts, on=["resource_kind", "text"], maintain_order="left")
    return joined.get_column("amount")


def _amount(kind: str, text: str) -> Decimal:
    """Return cores, GiB or GPUs. A few bytes of memory are no memory: a unit was left out."""
    amount = gib(text) if kind == "memory" else parse(text)
    is_wrong = kind == "memory" and 0 < amount < LEAST_MEMORY
    if amount > LARGEST or is_wrong:
        raise ValueError(text)
    return amount.quantize(QUANTUM, ROUND_HALF_EVEN)


# ---------------------------------------------------------------- days


def day_of(text: str, where: str) -> date:
    """Return the UTC day of a date, of a date and time, or of seconds or milliseconds since 1970.

    Raises InputError.
    """
    try:
        epoch = _EPOCH.fullmatch(text.strip())
        if epoch is not None:
            seconds = int(epoch[1] or epoch[2][:-3])
            return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)).date()
        moment = datetime.fromisoformat(text.strip())
        return (moment.astimezone(UTC) if moment.tzinfo else moment).date()
    except (ValueError, OverflowError):
        raise InputError(
            "a date cannot be read",
            where=where,
            expected="2026-10-01, 2026-10-01T06:00:00Z or seconds since 1970",
            got=repr(text),
        ) from None
