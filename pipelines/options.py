"""What the commands of `pipelines.cli` are asked with."""

from pathlib import Path
from typing import Annotated

import typer

MonthArgument = Annotated[str, typer.Argument(metavar="MONTH", help="Billing period, YYYY-MM.")]
NewestArgument = Annotated[
    str | None,
    typer.Argument(metavar="MONTH", help="Billing period, YYYY-MM; else the newest."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration instead of ./leerlauf.toml."),
]
LakeOption = Annotated[
    Path | None,
    typer.Option("--lake", metavar="FOLDER", help="Lake instead of the one configured."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else.")
]
JsonSchemaOption = Annotated[
    str | None,
    typer.Option("--json-schema", metavar="COMMAND", help="JSON Schema of COMMAND's --json."),
]
