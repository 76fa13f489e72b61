"""The clusters of a subscription: what the Resource Manager says of them, and what is kept."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from connectors import asked, azure, managed_clusters, retry
from connectors.arm import subscriptions
from connectors.base import ExportSource, Meter, silent
from connectors.errors import DeliveryError
from connectors.managed_clusters import ROLE
from tests.services.arm import Arm, problem

MONTH = "2026-10"
SUBSCRIPTION = "/subscriptions/11111111-2222-3333-4444-555555555555"
CLUSTERS = "/providers/Microsoft.ContainerService/managedClusters"


def entry(name: str, tier: str = "Standard", *, analysis: bool | None = True) -> dict[str, Any]:
    """A cluster as the Resource Manager lists it."""
    profile = {} if analysis is None else {"costAnalysis": {"enabled": analysis}}
    return {
        "id": f"{SUBSCRIPTION}/resourceGroups/RG-Shop{CLUSTERS}/{name}",
        "name": name,
        "sku": {"name": "Base", "tier": tier},
        "properties": {"nodeResourceGroup": f"MC_{name}", "metricsProfile": profile},
    }


def cluster_id(name: str) -> str:
    return str(entry(name)["id"]).lower()


@pytest.fixture
def known(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> Arm:
    """A Resource Manager with three clusters, two a page."""
    for name, value in arm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(retry, "_wait", lambda *_: 0.0)
    monkeypatch.setattr(asked, "today", lambda: date(2026, 11, 30))
    arm.known.page = 2
    arm.known.clusters = [
        entry("aks-shop"),
        entry("aks-batch", "Free", analysis=None),
        entry("aks-lab", "Premium", analysis=False),
    ]
    return arm


def source(arm: Arm, *names: str, location: str = "") -> ExportSource:
    clusters = tuple(cluster_id(name) for name in names or ("aks-shop",))
    return ExportSource(location, "cost_export", "actual", arm.endpoint, clusters=clusters)


def test_clusters_are_listed_page_by_page(known: Arm) -> None:
    meter = Meter()
    found = managed_clusters.found(source(known), meter)
    assert [(it.name, it.node_resource_group, it.tier, it.cost_analysis) for it in found] == [
        ("aks-batch", "MC_aks-batch", "Free", False),
        ("aks-lab", "MC_aks-lab", "Premium", False),
        ("aks-shop", "MC_aks-shop", "Standard", True),
    ]
    assert found[2].id == cluster_id("aks-shop")
    assert meter.calls == 2


def test_subscriptions_are_named_by_clusters_and_by_the_location(known: Arm) -> None:
    other = ExportSource("/SUBSCRIPTIONS/Other", "cost_export", clusters=(cluster_id("a"),) * 2)
    assert subscriptions(other) == ["11111111-2222-3333-4444-555555555555", "other"]


def test_the_history_grows_when_something_changed(
    known: Arm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen() -> list[tuple[str, str, str, bool]]:
        managed_clusters.remember(source(known), tmp_path)
        lines = managed_clusters.history(tmp_path)
        return [(it["seen"], it["id"].rsplit("/")[-1], it["tier"], it["there"]) for it in lines]

    first = [
        ("2026-11-30", "aks-batch", "Free", True),
        ("2026-11-30", "aks-lab", "Premium", True),
        ("2026-11-30", "aks-shop", "Standard", True),
    ]
    assert seen() == first
    content = (tmp_path / "clusters.json").read_bytes()
    assert json.loads(content)[2]["node_resource_group"] == "MC_aks-shop"

    monkeypatch.setattr(asked, "today", lambda: date(2026, 12, 1))
    assert seen() == first
    assert (tmp_path / "clusters.json").read_bytes() == content

    known.known.clusters = [entry("aks-shop"), entry("aks-batch", "Standard")]
    second = [
        *first,
        ("2026-12-01", "aks-batch", "Standard", True),
        ("2026-12-01", "aks-lab", "Premium", False),
    ]
    assert seen() == second
    known.known.clusters.append(entry("aks-lab", "Premium", analysis=False))
    assert seen() == [*second, ("2026-12-01", "aks-lab", "Premium", True)]

    elsewhere = ExportSource("/subscriptions/other", "cost_export", "actual", known.endpoint)
    known.known.clusters = []
    managed_clusters.remember(elsewhere, tmp_path)
    assert len(managed_clusters.history(tmp_path)) == len(second) + 1


@pytest.mark.parametrize("text", ["", "[", "[1]", "{"])
def test_a_damaged_history_is_not_begun_anew(known: Arm, tmp_path: Path, text: str) -> None:
    (tmp_path / "clusters.json").write_text(text)
    with pytest.raises(DeliveryError, match="the history of the clusters") as caught:
        managed_clusters.remember(source(known), tmp_path)
    assert caught.value.exit_code == 3
    assert (tmp_path / "clusters.json").read_text() == text


def test_who_may_not_see_clusters_keeps_the_history(known: Arm, tmp_path: Path) -> None:
    managed_clusters.remember(source(known), tmp_path)
    content = (tmp_path / "clusters.json").read_bytes()
    known.then(CLUSTERS, problem(403, "AuthorizationFailed", "no"))
    managed_clusters.remember(source(known), tmp_path)
    assert (tmp_path / "clusters.json").read_bytes() == content
    known.then(CLUSTERS, problem(403, "AuthorizationFailed", "no"))
    with pytest.raises(DeliveryError, match="access is denied") as caught:
        managed_clusters.inspect(source(known))
    assert caught.value.hint == "grant the role Reader on the subscription"


def test_a_new_fetch_looks_at_the_clusters_and_another_does_not(known: Arm, tmp_path: Path) -> None:
    asking = source(known)
    for calls in (2, 0):
        delivery = azure.discover_splits(asking, MONTH)
        assert delivery is not None
        azure.fetch(asking, delivery, tmp_path, silent)
        assert len(known.asked(CLUSTERS)) == calls
        known.calls.clear()
    assert len(managed_clusters.history(tmp_path)) == 3


def test_what_keeps_azure_from_splitting(known: Arm) -> None:
    named = source(known, "aks-shop", "aks-batch", "aks-old", location=SUBSCRIPTION)
    told = [(it.status, it.actual, it.hint) for it in azure.inspect(named, MONTH)]
    assert told == [
        (
            "warning",
            "aks-batch: cost analysis off, tier Free, nodes in MC_aks-batch",
            f"az aks update --ids {cluster_id('aks-batch')} --tier standard --enable-cost-analysis",
        ),
        (
            "warning",
            "aks-old: Azure lists none",
            f"deleted, in another subscription, or not to be seen: that takes {ROLE}",
        ),
        ("ok", "aks-shop: cost analysis on, tier Standard, nodes in MC_aks-shop", None),
        (
            "warning",
            "aks-lab is not in `clusters`: its cost counts as outside",
            f'add "{cluster_id("aks-lab")}" = {{ node_resource_group = "MC_aks-lab" }}',
        ),
    ]


@pytest.mark.parametrize("location", ["exports/azure", "", "http://127.0.0.1:1/account/c"])
def test_files_alone_ask_nobody(known: Arm, location: str) -> None:
    assert azure.inspect(source(known, location=location), MONTH) == []
    assert known.calls == []
