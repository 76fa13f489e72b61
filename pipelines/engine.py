"""DuckDB, as every part of leerlauf opens it."""

from pathlib import Path

import duckdb


def connect(spill: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection of its own; what does not fit into memory goes to `spill`.

    The progress bar is off, because DuckDB draws it into pipes too.
    """
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    if spill is not None:
        con.execute("SET temp_directory = $folder", {"folder": str(spill)})
    return con
