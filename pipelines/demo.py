"""The demo: the bundled exports, in a folder that anybody may throw away."""

import json
import re
from importlib.resources import as_file, files
from pathlib import Path

MONTH = "2026-10"
FOLDER = Path("leerlauf-demo")
FILE = "leerlauf.toml"


def prepare(folder: Path) -> Path:
    """Write the demo's configuration into `folder`, and return its path.

    It is the bundled one, with every path pointing at the bundled files.
    """
    with as_file(files("fixtures")) as bundled:
        text = (bundled / FILE).read_text(encoding="utf-8")
        exports = re.sub(
            r'^(\w+) = "(exports/.*)"$',
            lambda found: f"{found[1]} = {json.dumps(str(bundled / found[2]), ensure_ascii=False)}",
            text,
            flags=re.MULTILINE,
        )
    path = folder / FILE
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(exports, encoding="utf-8")
    return path
