"""What the READMEs of the transforms say about traps is true: the tests they name exist."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

READMES = sorted((ROOT / "transforms").rglob("README.md"))
TESTS = {
    name
    for file in (ROOT / "tests").glob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize("readme", READMES, ids=[file.parent.name for file in READMES])
def test_every_test_that_is_named_exists(readme: Path) -> None:
    named = set(re.findall(r"`(test_\w+)`", readme.read_text(encoding="utf-8")))
    assert named
    assert named - TESTS == set()


@pytest.mark.parametrize(
    ("provider", "numbered"), [("gcp", [*range(1, 13), *range(1, 10)]), ("azure", [*range(1, 12)])]
)
def test_every_numbered_trap_has_its_line(provider: str, numbered: list[int]) -> None:
    """The numbers are those of the fact sheets: complaints and consequences, or defects."""
    text = (ROOT / "transforms" / provider / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| .* \| (.+) \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == numbered
    assert [answer for _, answer in rows if not re.search(r"`test_\w+`|\w+ \w+", answer)] == []
