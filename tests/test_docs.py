"""README.md says what is true: its generated parts are current, its examples work."""

import re
import tomllib
from pathlib import Path

import pytest

from pipelines import config, docs, failing
from pipelines.cli import PIPE_CLOSED
from pipelines.errors import UNREADABLE, WRONG_USE
from pipelines.levers import LEVERS
from pipelines.objects import OBJECTS
from tests.conftest import ROOT
from transforms.schema import CAUSES, TABLES

README = docs.README.read_text(encoding="utf-8")


def part(name: str) -> str:
    """Return what stands between the two comments that name a part."""
    found = re.search(rf"<!-- begin {name} -->\n\n(.*?)\n\n<!-- end {name} -->", README, re.DOTALL)
    assert found, name
    return found[1]


@pytest.mark.parametrize("name", docs.PARTS)
def test_each_generated_part_is_current(name: str) -> None:
    assert part(name) == docs.PARTS[name](), "python -m pipelines.docs writes it again"


def test_no_part_is_forgotten() -> None:
    assert sorted(re.findall(r"<!-- begin (\w+) -->", README)) == sorted(docs.PARTS)


def test_what_grew_old_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "PARTS", {"x": lambda: "new", "y": lambda: "same"})
    old = (
        "a\n<!-- begin x -->\n\nold\n\n<!-- end x -->\nb\n<!-- begin y -->\n\nsame\n\n"
        "<!-- end y -->\n"
    )
    assert docs.current(old) == old.replace("old", "new")
    assert docs.current(docs.current(old)) == docs.current(old)


def test_main_writes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("<!-- begin x -->\n<!-- end x -->\n")
    monkeypatch.setattr(docs, "README", readme)
    monkeypatch.setattr(docs, "PARTS", {"x": lambda: "new"})
    docs.main()
    docs.main()
    assert readme.read_text() == "<!-- begin x -->\n\nnew\n\n<!-- end x -->\n"
    assert capsys.readouterr().err == "README.md written\nREADME.md is current\n"


def test_the_configuration_of_the_readme_is_one() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    document = tomllib.loads(text)
    read = config.from_document(document)
    assert set(document) == {
        field.alias or name for name, field in config.Config.model_fields.items()
    }
    assert [rule.label or rule.team for rule in read.team_rules] == ["team", "payments"]


def test_every_command_is_in_the_readme_and_no_other() -> None:
    named = set(re.findall(r"`leerlauf (?!\.)([a-z]+)", README))
    assert named == set(OBJECTS)


def test_every_cause_of_idle_has_its_turn_and_its_lever() -> None:
    assert sorted(docs.IN_TURN) == sorted(CAUSES) == sorted(LEVERS)


def test_every_finding_that_the_readme_names_is_one() -> None:
    named = set(re.findall(r"`((?:[a-z]+_)+[a-z]+)`", part_of("## Why there is idle")))
    named |= set(re.findall(r"`(inventory_[a-z_]+|reserve_[a-z]+|metric_[a-z_]+)`", README))
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("pipelines", "sql", "transforms")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".sql")
    )
    assert "idle_ratio_fell" in named
    assert [name for name in sorted(named) if not re.search(rf"\b{name}\b", code)] == []


def part_of(heading: str) -> str:
    """Return what stands below a heading, up to the next one of its level."""
    return README.partition(heading)[2].partition("\n## ")[0]


def test_every_table_is_in_the_readme() -> None:
    assert re.findall(r"^#### (\w+)$", README, re.MULTILINE) == list(TABLES)


def test_exit_codes_are_those_of_the_code() -> None:
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)]
    assert codes == [0, 1, WRONG_USE, UNREADABLE, failing.DEFECT]
    assert PIPE_CLOSED not in codes


def test_files_that_the_readme_names_are_there() -> None:
    names = re.findall(r"`((?:sql/[\w/]+|[A-Z]+\.md))`", README)
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_make_knows_the_two_commands() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{word}: ", makefile, re.MULTILINE) for word in ("demo", "test"))
