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
