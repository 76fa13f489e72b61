"""Take the fields that may hold addresses out of a lock of npm: none of them is needed."""

import json
import sys
from pathlib import Path


def main() -> None:
    """Write the lock named on the command line again, without them."""
    path = Path(sys.argv[1])
    lock = json.loads(path.read_text(encoding="utf-8"))
    for package in lock["packages"].values():
        for name in ("deprecated", "funding", "license"):
            package.pop(name, None)
    path.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
