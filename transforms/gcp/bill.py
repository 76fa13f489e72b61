"""The columns of `bill.sql` as SQL over a raw file, in each of its forms."""

import re
from collections.abc import Mapping

from transforms.cells import quoted, sql

_COLUMNS = {
    "month": "invoice.month",
    "cost_type": "cost_type",
    "service_name": "service.description",
    "billing_currency": "currency",
    "cost": "cost",
}
_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_AMOUNTS = rf"""['"]amount['"]\s*:\s*(?:Decimal\()?['"]?(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)|{_STRING}"""
"""The amounts in a list of credits, as JSON or as Python prints it. All other texts match without
an amount, so that none is looked for inside them."""


def bill_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns `bill.sql` reads, each as SQL over the raw columns.

    columns: raw column -> its DuckDB type.
    """
    if list(columns) == ["line"]:
        named = {name: f"json_extract_string(line, '$.{path}')" for name, path in _COLUMNS.items()}
        return named | {"credits": "json_extract_string(line, '$.credits[*].amount')"}
    named = {name: _value(columns, path) for name, path in _COLUMNS.items()}
    return named | {"credits": _credits(columns)}


def _value(columns: Mapping[str, str], path: str) -> str:
    """A column of that name, a field of a nested column, or a field in a cell of text."""
    if path in columns:
        return sql(path, columns[path])
    head, _, field = path.partition(".")
    type_ = columns.get(head, "") if field else ""
    if type_ == "VARCHAR":
        pattern = rf"""['"]{field}['"]\s*:\s*(?:"([^"]*)"|'([^']*)'|([^'",}}]+))"""
        groups = (f"regexp_extract({quoted(head)}, {_literal(pattern)}, {n})" for n in (1, 2, 3))
        return f"nullif({' || '.join(groups)}, '')"
    is_field = re.search(rf'(?:\(|, )"?{field}"? ', type_)
    return f"{quoted(head)}.{quoted(field)}" if is_field else "NULL"


def _credits(columns: Mapping[str, str]) -> str:
    match columns.get("credits"):
        case "VARCHAR":
            found = f"regexp_extract_all(credits, {_literal(_AMOUNTS)}, 1)"
            return f"list_filter({found}, lambda amount: amount != '')"
        case str(type_) if "amount" in type_:
            return "list_transform(credits, lambda credit: credit.amount)"
    return "[]"


def _literal(pattern: str) -> str:
    return "'" + pattern.replace("'", "''") + "'"
