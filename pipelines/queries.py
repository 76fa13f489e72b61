"""The SQL of the ledger: read by name, found beside this package."""

from pathlib import Path

SQL = Path(__file__).resolve().parent.parent / "sql"


def read(name: str) -> str:
    """Return the text of sql/<name>.sql."""
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")


def names(folder: str) -> list[str]:
    """Return the names of the queries in sql/<folder>, sorted, without the folder."""
    return sorted(path.stem for path in (SQL / folder).glob("*.sql"))


def methods() -> list[str]:
    """Return the distribution methods: one for each file in sql/distribute/weights."""
    return names("distribute/weights")
