"""The first leerlauf.toml: what an inspection found, with a word to each line.

What only a person knows stands there as an example, commented out.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipelines.errors import ConfigurationError
from pipelines.figures import clean
from pipelines.inspecting import Found, Inspection
from pipelines.sources import is_remote

WIDEST_REMARK = 300
_HEAD = """\
# What leerlauf reads and by which rules, as `leerlauf init` found it. Correct what is not so, then:
#   leerlauf check {month}
#   leerlauf run {month}
# Paths are relative to this file. No secret belongs into it. The README explains every key.

[lake]
path = {lake}  # where everything is written
# labels = ["app.kubernetes.io/name"]  # labels to keep, beside those that team rules name

[report]
cost_view = {view}  # effective: amortised | billed: what the invoice says
"""
_RULES = """
# ------------------------------------------------------ who is charged; the first match wins

[[team_rule]]
label = "team"  # the label on pods, namespaces or resources whose value is the team
# [[team_rule]]
# team = "payments"
# namespace = ["checkout", "pay-*"]
# cluster = ["*"]
# valid_from = 2026-01-01

# Who runs the clusters, and carries what is not distributed: write your team's name.
[[operator]]
team = "platform"
cluster = ["*"]

# -------------------------------------------- what runs a cluster, and what is kept free

# Without [[system]] a built-in list holds: `leerlauf schema` shows it.
# [[system]]
# namespace = ["kube-system", "monitoring"]

# Pods that only hold capacity free for peaks, and what a policy keeps free.
# [[headroom]]
# cluster = ["*"]
# placeholder_pods = { namespace = ["overprovisioning"] }
# [[headroom]]
# cluster = ["*"]
# keep_free = { cpu = "10%", memory = "4GiB" }

# What nodes can allocate; without it, what they reserve for themselves may stand in idle.
#   kubectl get nodes -o json > nodes/NAME-$(date -u +%F).json
# [[nodes]]
# path = "nodes/*.json"

# What keeps a node pool from getting smaller, so that `leerlauf idle` can say so.
# [[node_pool]]
# node_pool = ["general"]
# min_nodes = 2

# ------------------------------------------------ who bears the rest; the first match wins

# To begin with, the operator bears it. `leerlauf compare` shows what each team would pay if idle
# and headroom were distributed; `leerlauf methods` says when which method is fair.
[[allocation_rule]]
id = "start"
kinds = ["idle", "headroom", "system_overhead", "cluster_fee", "shared"]
method = "none"  # none | proportional | even | metric | fixed
"""


def write(found: Inspection, file: Path, lake: Path | None) -> None:
    """Write the configuration to `file`.

    Raises ConfigurationError where there is one already.
    """
    text = document(found, file, lake)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise there_already(file) from None


def there_already(file: Path) -> ConfigurationError:
    """Return the refusal to write over a file."""
    return ConfigurationError(
        "a configuration is there already",
        where=str(file),
        expected="no such file: init never writes over one",
        hint="name another with --config, or move this one away",
    )


def not_there(file: Path) -> ConfigurationError:
    """Return what to do where there is no configuration."""
    return ConfigurationError(
        "no configuration",
        where=str(file.absolute()),
        expected="a leerlauf.toml",
        got="no such file",
        hint="Go to the folder that has it, or name it with --config; for a new one: "
        "`leerlauf init FOLDER`, with the folder of your exports.",
    )


def document(found: Inspection, file: Path, lake: Path | None) -> str:
    """Return the text of a configuration, as it stands in `file`."""
    head = _HEAD.format(
        month=found.month or "YYYY-MM",
        lake=quoted("lake" if lake is None else relative(lake.absolute(), file)),
        view=quoted(found.view),
    )
    sources = "".join(_source(source, found, file) for source in found.sources)
    return f"{head}\n# {'-' * 86} sources\n{sources}{_RULES}"


def quoted(value: str) -> str:
    """Return text as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def relative(path: Path, file: Path) -> str:
    """Return a path as `file` names it; no folder may pass for a table's name."""
    beside = os.path.realpath(file.absolute().parent)
    plain = Path(os.path.relpath(path, beside)).as_posix()
    return f"./{plain}" if is_remote(plain) else plain


def _source(source: Found, found: Inspection, file: Path) -> str:
    lines = list(_keys(source, file))
    if unused := found.unused.get(source.id):
        lines = [f"# Not used: {_remark(unused)}.", *(f"# {line}" for line in lines)]
    if source.problem:
        lines.insert(0, f"# It cannot be read yet: {_remark(source.problem)}")
    return "\n".join(["", *lines, ""])


def _keys(source: Found, file: Path) -> Iterator[str]:
    yield "[[source]]"
    yield f"id = {quoted(source.id)}"
    yield f"provider = {quoted(source.provider)}"
    yield f"dataset = {quoted(source.dataset)}"
    months = ", ".join(source.months) or "no month"
    yield f"location = {quoted(relative(source.location, file))}  # with {_remark(months)}"
    yield from _currency(source)
    if source.metric is not None:
        told = "" if source.metric_told else "  # a guess: the export's settings show its type"
        yield f"metric = {quoted(source.metric)}{told}"
    if source.split_location is not None:
        yield f"splits = {_list(source.splits)}  # who splits a cluster's cost, the preferred first"
        yield f"split_location = {quoted(relative(source.split_location, file))}"
    yield from _clusters(source)


def _currency(source: Found) -> Iterator[str]:
    if source.currency is not None:
        yield f"currency = {quoted(source.currency)}  # a promise: another one is an error finding"
    elif source.seen.currencies:
        several = ", ".join(sorted(source.seen.currencies))
        yield f"# currency: it has {_remark(several)}; they are never added"


def _clusters(source: Found) -> Iterator[str]:
    """Yield a table for each cluster; what is only guessed is commented out."""
    for cluster, group in sorted(source.seen.clusters.items()):
        yield f"[source.clusters.{quoted(cluster)}]"
        yield f"node_resource_group = {quoted(group)}"
    if source.seen.guessed:
        yield "# Guessed from the names; where it is right, take the # away:"
    for cluster, group in sorted(source.seen.guessed.items()):
        yield f"# [source.clusters.{quoted(cluster)}]"
        yield f"# node_resource_group = {quoted(group)}"


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, values))}]"


def _remark(text: str) -> str:
    """Return text of strangers as a comment can hold it."""
    return clean(text, WIDEST_REMARK)
