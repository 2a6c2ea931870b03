"""values.yaml and values.schema.json of the charts. Pure."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from cobaltcore.api import schema
from cobaltcore.deploy import values
from cobaltcore.deploy.values import OPERATORS, OperatorValues

_WIDTH = 96


def of_operator() -> str:
    """The schema of the values of one operator."""
    return _text(_operator())


def of_all(names: Iterable[str]) -> str:
    """The schema of the values of all operators, with overrides for each."""
    return _text(_all(names))


def yaml_of_operator() -> str:
    """The default values of one operator, each with its description."""
    return "\n".join(_lines(values.defaults(), _operator()))


def yaml_of_all(names: Iterable[str]) -> str:
    """The default values of all operators."""
    names = list(names)
    switches = {name: {"enabled": True} for name in names}
    return "\n".join(_lines({**values.defaults(), OPERATORS: switches}, _all(names)))


def _operator() -> schema.Schema:
    found: schema.Schema = _plain(schema.of_struct(OperatorValues, defaults=False))
    return found


def _all(names: Iterable[str]) -> schema.Schema:
    whole = _operator()
    enabled = {"type": "boolean", "description": "Whether this operator is installed."}
    each = {**whole, "properties": {"enabled": enabled, **whole["properties"]}}
    overrides = {
        "type": "object",
        "description": "Values for single operators, which override those above.",
        "properties": {name: {"$ref": "#/$defs/operator"} for name in names},
        "additionalProperties": False,
    }
    properties = {**whole["properties"], OPERATORS: overrides}
    # Helm itself adds `global`.
    return {**whole, "properties": properties, "$defs": {"operator": each}}


def _text(whole: schema.Schema) -> str:
    properties = {**whole["properties"], "global": {"type": "object"}}
    return json.dumps(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **whole,
            "properties": properties,
        },
        indent=1,
        ensure_ascii=False,
    )


def _plain(found: Any) -> Any:
    """JSON Schema without Kubernetes' extensions; objects know all of their fields."""
    if isinstance(found, list):
        return [_plain(each) for each in found]
    if not isinstance(found, Mapping):
        return found
    kept = {key: _plain(each) for key, each in found.items() if not key.startswith("x-")}
    if found.get("x-kubernetes-int-or-string"):
        kept["type"] = ["integer", "string"]
    if "properties" in kept and kept.get("type") == "object":
        kept["additionalProperties"] = False
    return kept


def _lines(found: Mapping[str, Any], known: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for key, value in found.items():
        inner = known["properties"].get(key, {})
        if text := inner.get("description"):
            room = _WIDTH - len(indent) - 2
            yield from (f"{indent}# {line}" for line in textwrap.wrap(text, room))
        if isinstance(value, Mapping) and "properties" in inner and value:
            yield f"{indent}{key}:"
            yield from _lines(value, inner, f"{indent}  ")
        else:
            dumped = yaml.safe_dump({key: value}, sort_keys=False, width=_WIDTH)
            yield textwrap.indent(dumped.rstrip(), indent)
        if not indent:
            yield ""
