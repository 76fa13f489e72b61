"""Mistakes in leerlauf.toml, said in our words: file, key, expected, got, what to do next."""

import difflib
import re
from collections.abc import Iterable, Sequence
from datetime import date
from os.path import normpath
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from pipelines.errors import ConfigurationError, SeveralError

OURS = "leerlauf"
LONGEST_VALUE = 80

EXPECTED = {
    "string_type": "text in quotes",
    "path_type": "text in quotes",
    "dict_type": "a table",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "decimal_max_places": "at most {decimal_places} decimal places",
    "finite_number": "a number",
    "int_type": "a whole number",
    "byte_size": "a number of bytes such as '200GB'",
    "byte_size_unit": "a number of bytes such as '200GB'",
    "greater_than": "more than {gt}",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "tuple_type": "a list",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_pattern_mismatch": "three capital letters, an ISO 4217 code such as 'EUR'",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
"""Pydantic's kinds of error that can happen here, and what was expected."""


def mistake(expected: str, got: str, hint: str = "") -> PydanticCustomError:
    """Return what a validator raises."""
    context = {"expected": expected, "got": got, "hint": hint}
    return PydanticCustomError("leerlauf", "expected {expected}, got {got}", context)


def choice(names: Iterable[str]) -> str:
    """Return `'a', 'b' or 'c'`."""
    *most, last = [repr(name) for name in names]
    return f"{', '.join(most)} or {last}" if most else last


def without_secrets(location: str) -> str:
    """Return a URL without the user, password and query it may carry."""
    return re.sub(r"//[^/@]*@", "//", location.split("?", maxsplit=1)[0])


def raise_all(file: str, problems: Sequence[ConfigurationError]) -> None:
    """Raise the one problem as it is, several together, none not at all."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SeveralError(f"{len(problems)} mistakes", problems, where=file)


def translate(
    error: ValidationError, model: type[BaseModel], file: str
) -> list[ConfigurationError]:
    """Return one problem for each error that pydantic found, in the order of the file."""
    return [_problem(details, model, file) for details in error.errors(include_url=False)]


def key(parts: Iterable[str | int]) -> str:
    """Return the dotted key of a place in the file: `allocation_rule[1].method`."""
    dotted = ""
    for part in parts:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}" if dotted else part
    return dotted


def counted_twice(document: dict[str, Any], file: str) -> list[ConfigurationError]:
    """Find ids given twice, and folders that two sources would both count."""
    problems = []
    for table, name in (("source", "id"), ("allocation_rule", "id"), ("source", "location")):
        seen: list[Any] = []
        for index, value in enumerate(_values(document.get(table), name)):
            if value is not None and value in seen:
                where = f"{file}: {key((table, index, name))}"
                first = key((table, seen.index(value), name))
                problems.append(
                    ConfigurationError(
                        "used twice",
                        where=where,
                        expected=f"another {name} than {first}",
                        got=shown(value),
                    )
                )
            seen.append(value)
    return problems


def _values(tables: Any, name: str) -> list[Any]:
    """Return the values of one key, whatever the file put there; paths in their shortest form."""
    if not isinstance(tables, list):
        return []
    values = [table.get(name) if isinstance(table, dict) else None for table in tables]
    if name == "location":
        return [normpath(value) if isinstance(value, str) else value for value in values]
    return values


def _problem(details: ErrorDetails, model: type[BaseModel], file: str) -> ConfigurationError:
    place, context = details["loc"], details.get("ctx", {})
    if place[-1:] == ("[key]",):  # a name in a table of the user's own names
        place = place[:-2]
    where = f"{file}: {key(place)}" if place else file
    if details["type"] == "extra_forbidden":
        return _unknown_key(place, model, where)
    if details["type"] == "missing":
        return ConfigurationError(
            "missing key", where=where, expected=_missing(place), got="nothing"
        )
    if details["type"] == OURS:
        return ConfigurationError("wrong value", where=where, **context)
    return ConfigurationError(
        "wrong value",
        where=where,
        expected=_expected(details, context),
        got=shown(details["input"]),
    )


def _unknown_key(
    place: Sequence[str | int], model: type[BaseModel], where: str
) -> ConfigurationError:
    name = str(place[-1])
    known = _keys(model, place[:-1])
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else ""
    return ConfigurationError(
        "unknown key", where=where, expected=", ".join(known), got=name, hint=hint
    )


def _keys(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the keys of the table at `place`, as the file spells them."""
    for part in place:
        by_key = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in by_key:  # else it is a position in a list, or a name in a table of tables
            model = _table(by_key[str(part)].annotation)
    names = [field.alias or name for name, field in model.model_fields.items()]
    return sorted(names, key=lambda name: name.startswith("valid_"))


def _table(annotation: Any) -> type[BaseModel]:
    """Return the model in `Model`, `tuple[Model, ...]` or `dict[str, Model]`."""
    parts = getattr(annotation, "__args__", (annotation,))
    return next(part for part in parts if isinstance(part, type) and issubclass(part, BaseModel))


def _missing(place: Sequence[str | int]) -> str:
    return f"at least one [[{place[0]}]]" if len(place) == 1 else str(place[-1])


def _expected(details: ErrorDetails, context: dict[str, Any]) -> str:
    if details["type"] == "tuple_type" and len(details["loc"]) == 1:
        return f"a list of tables, written [[{details['loc'][0]}]]"
    return EXPECTED.get(details["type"], details["msg"]).format(**context)


def shown(value: Any) -> str:
    """Return a value of the file as it is shown in a message; a table is not shown."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = value.isoformat() if isinstance(value, date) else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
