"""The dated decisions of leerlauf.toml: who is charged, what is kept free, who bears the rest."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictInt, field_validator, model_validator

from pipelines import mistakes, queries
from pipelines.mistakes import mistake
from pipelines.values import Dated, Globs, Id, Name, Names, Table
from transforms.quantities import LARGEST, Kept, kept
from transforms.schema import POOL_KINDS

NEVER_DISTRIBUTED = {
    "workload": "a team's own cost stays with the team",
    "unattributed": "nobody can say whose it is; it is shown, never folded into a team",
    "outside": "it belongs to no cluster",
}
_KEYS_OF_METHODS = {"metric": ("metric_file", "metric", "fallback"), "fixed": ("shares",)}
_NEEDED = {"metric": "metric_file", "fixed": "shares"}

Scope = Literal["node", "node_pool", "cluster"]
Fallback = Literal["none", "proportional", "even"]
"""What may distribute a pool whose metric is missing: methods that need nothing else."""


def _number(value: Any) -> Any:
    """Read a TOML number by its digits, so that 0.1 is a tenth."""
    return value if isinstance(value, bool) else str(value)


def _no_folder(value: Any) -> Any:
    """Refuse the empty name, which would be the folder of the file."""
    if value == "":
        raise mistake("the name of a file", "''")
    return value


Share = Annotated[Decimal, BeforeValidator(_number), Field(gt=0, lt=10**12, decimal_places=12)]


class TeamRule(Dated):
    """Who is charged: the value of a label, or a named team for some namespaces."""

    label: Name | None = None
    team: Name | None = None
    namespace: Globs = ("*",)
    cluster: Globs = ("*",)

    @model_validator(mode="after")
    def _label_or_team(self) -> Self:
        if (self.label is None) == (self.team is None):
            got = "neither" if self.label is None else "both"
            raise mistake("either `label` or `team`", got)
        return self


class Operator(Table):
    """The team that runs some clusters and carries what is not distributed."""

    team: Name
    cluster: Globs = ("*",)


class System(Table):
    """Namespaces whose cost is shared operation."""

    namespace: Globs
    cluster: Globs = ("*",)


class Nodes(Table):
    """Where it says what nodes can allocate: `kubectl get nodes -o json` snapshots, or CSV."""

    path: Names


class NodePool(Dated):
    """What keeps a node pool from getting smaller."""

    cluster: Globs = ("*",)
    node_pool: Globs = ("*",)
    min_nodes: Annotated[StrictInt, Field(ge=0, le=LARGEST)]


class PlaceholderPods(Table):
    """Pods that only hold capacity free, found by their namespace."""

    namespace: Globs


class KeepFree(Table):
    """How much of each resource is kept free: a percentage, or cores, memory, GPUs."""

    cpu: Name | None = None
    memory: Name | None = None
    gpu: Name | None = None
    compute: Name | None = None

    @field_validator("cpu", "memory", "gpu", "compute")
    @classmethod
    def _readable(cls, value: str | None, info: Any) -> str | None:
        try:
            if value is not None:
                kept(info.field_name, value)
        except ValueError:
            raise mistake(_KEPT[info.field_name], repr(value)) from None
        return value

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.wanted:
            raise mistake(f"at least one of {mistakes.choice(_KEPT)}", "nothing")
        return self

    @property
    def wanted(self) -> Mapping[str, Kept]:
        """What is kept free, by resource kind."""
        named = self.model_dump(exclude_none=True)
        return {kind: kept(kind, text) for kind, text in named.items()}


_KEPT = {
    "cpu": "0% to 100%, or CPUs such as '500m' or '2'",
    "memory": "0% to 100%, or memory with its unit such as '4GiB' or '512Mi'",
    "gpu": "0% to 100%, or GPUs such as '1'",
    "compute": "0% to 100%",
}


class Headroom(Dated):
    """Capacity held free on purpose: by placeholder pods, or by a policy."""

    cluster: Globs = ("*",)
    placeholder_pods: PlaceholderPods | None = None
    node_pool: Globs = ("*",)
    keep_free: KeepFree | None = None
    scope: Scope = "node"

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.placeholder_pods is None) == (self.keep_free is None):
            got = "neither" if self.keep_free is None else "both"
            hint = "Give each its own [[headroom]]." if self.keep_free else ""
            raise mistake("either `placeholder_pods` or `keep_free`", got, hint)
        for name in ("node_pool", "scope"):
            if (
                self.keep_free is None
                and getattr(self, name) != type(self).model_fields[name].default
            ):
                raise mistake(f"no `{name}` beside `placeholder_pods`", f"`{name}`")
        return self


class AllocationRule(Dated):
    """Which method distributes which row kinds on which clusters, and when."""

    id: Id
    kinds: Names
    method: str
    scope: Scope = "cluster"
    by: Literal["resource", "total"] = "resource"
    cluster: Globs = ("*",)
    teams: Names | None = None
    except_: Annotated[Names | None, Field(alias="except")] = None
    metric_file: Annotated[Path | None, BeforeValidator(_no_folder)] = None
    metric: Name | None = None
    fallback: Fallback | None = None
    shares: dict[Name, Share] | None = None

    @field_validator("kinds")
    @classmethod
    def _can_be_distributed(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for kind in value:
            if kind not in POOL_KINDS:
                why = NEVER_DISTRIBUTED.get(kind)
                hint = f"{kind} is never distributed: {why}." if why else ""
                raise mistake(mistakes.choice(POOL_KINDS), repr(kind), hint)
        return value

    @field_validator("method")
    @classmethod
    def _known_method(cls, value: str) -> str:
        if value not in queries.methods():
            raise mistake(
                mistakes.choice(queries.methods()),
                repr(value),
                "`leerlauf methods` shows what each method does.",
            )
        return value

    @model_validator(mode="after")
    def _keys_fit_the_method(self) -> Self:
        for method, names in _KEYS_OF_METHODS.items():
            for name in names:
                if method != self.method and getattr(self, name) is not None:
                    raise mistake(f"`{name}` only with method = '{method}'", f"'{self.method}'")
        needed = _NEEDED.get(self.method)
        if needed is not None and not getattr(self, needed):
            raise mistake(f"`{needed}` beside method = '{self.method}'", "nothing")
        return self

    @property
    def measure(self) -> str | None:
        """Which metric it is by: its name, or that of the file, which then holds no other."""
        return self.metric or (self.metric_file.name if self.metric_file else None)

    @property
    def falls_back_to(self) -> Fallback | None:
        """What distributes where nobody has a value of its metric; None for other methods."""
        return (self.fallback or "none") if self.method == "metric" else None
