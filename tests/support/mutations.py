"""Invalid variants of a valid object, found by walking its schema."""

import copy
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support import structural

# Enough different texts that every pattern in use refuses one of them.
_STRANGE = ("!! not this", "two words", "-", "?", "a\nb", "☃")
_WRONG_TYPE: dict[str, Any] = {
    "string": 12345,
    "integer": "many",
    "number": "many",
    "boolean": "maybe",
    "array": "none",
    "object": "none",
}
_LIST_LIMIT = 128
_NESTING_LIMIT = 6


class Mutation(NamedTuple):
    """An object that must be refused, and the field that the answer has to name."""

    why: str
    field: str
    obj: dict[str, Any]


class _Place(NamedTuple):
    """A value in an object: the steps to it and the name that the API server gives it."""

    steps: tuple[str | int, ...]
    field: str


def mutations(obj: dict[str, Any], schema: structural.Schema) -> Iterator[Mutation]:
    """Every way to break the spec of an object that its schema knows of, one at a time."""
    place = _Place(("spec",), "spec")
    yield from _of_value(obj, obj["spec"], schema["properties"]["spec"], place)


def _of_value(
    obj: dict[str, Any], value: Any, schema: structural.Schema, place: _Place
) -> Iterator[Mutation]:
    for why, wrong in _wrong_values(value, schema):
        yield Mutation(why, place.field, _replaced(obj, place.steps, wrong))
    if isinstance(value, dict) and "properties" in schema:
        yield from _of_fields(obj, value, schema, place)
    elif isinstance(value, list) and value:
        yield from _of_items(obj, value, schema, place)


def _of_fields(
    obj: dict[str, Any], value: dict[str, Any], schema: structural.Schema, place: _Place
) -> Iterator[Mutation]:
    unknown = f"{place.field}.surprise"
    yield Mutation("unknown", unknown, _replaced(obj, (*place.steps, "surprise"), value=1))
    for name in schema.get("required", []):
        without = {key: each for key, each in value.items() if key != name}
        yield Mutation("missing", f"{place.field}.{name}", _replaced(obj, place.steps, without))
    for name, child in schema["properties"].items():
        if name in value:
            below = _Place((*place.steps, name), f"{place.field}.{name}")
            yield from _of_value(obj, value[name], child, below)


def _of_items(
    obj: dict[str, Any], value: list[Any], schema: structural.Schema, place: _Place
) -> Iterator[Mutation]:
    if schema["x-kubernetes-list-type"] in ("set", "map"):
        twice = [*value, value[0]]
        field = f"{place.field}[{len(value)}]"
        yield Mutation("duplicate", field, _replaced(obj, place.steps, twice))
    if len(place.steps) < _NESTING_LIMIT:
        first = _Place((*place.steps, 0), f"{place.field}[0]")
        yield from _of_value(obj, value[0], schema["items"], first)


def _wrong_values(value: Any, schema: structural.Schema) -> Iterator[tuple[str, Any]]:
    if schema.get("x-kubernetes-int-or-string"):
        yield "type", True
        if "pattern" in schema:
            yield "pattern", "lots"
    elif schema.get("type"):
        yield "type", _WRONG_TYPE[schema["type"]]
    if "enum" in schema:
        yield "enum", "bogus" if schema["type"] == "string" else 99
    if "minimum" in schema:
        yield "minimum", schema["minimum"] - 1
    if "maximum" in schema:
        yield "maximum", schema["maximum"] + 1
    if schema.get("format") == "date-time":
        yield "format", "yesterday"
    yield from _wrong_lengths(value, schema)


def _wrong_lengths(value: Any, schema: structural.Schema) -> Iterator[tuple[str, Any]]:
    if schema.get("type") == "string" and "pattern" in schema:
        strange = (each for each in _STRANGE if not re.search(schema["pattern"], each))
        yield "pattern", next(strange)
    if schema.get("minLength"):
        yield "short", ""
    if "maxLength" in schema:
        yield "long", "a" * (schema["maxLength"] + 1)
    if schema.get("minItems"):
        yield "few", []
    if value and schema.get("maxItems", _LIST_LIMIT) < _LIST_LIMIT and isinstance(value, list):
        yield "many", [value[0]] * (schema["maxItems"] + 1)


def _replaced(obj: dict[str, Any], steps: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    result = copy.deepcopy(obj)
    target: Any = result
    for step in steps[:-1]:
        target = target[step]
    target[steps[-1]] = copy.deepcopy(value)
    return result
