"""Structural schemas in tests: walking them, and defaulting as the API server does it."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cobaltcore.api import crd

Schema = dict[str, Any]
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
STATUSES = Path(__file__).with_name("statuses.yaml")


class Node(NamedTuple):
    """One schema within another, with the path that leads to it."""

    path: str
    schema: Schema
    is_property: bool


def walk(schema: Schema, path: str = "", *, is_property: bool = False) -> Iterator[Node]:
    """Every schema in a schema, itself first."""
    yield Node(path, schema, is_property)
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}" if path else name, is_property=True)
    if "items" in schema:
        yield from walk(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from walk(schema["additionalProperties"], f"{path}.*")


def with_defaults(value: Any, schema: Schema) -> Any:
    """The value as the API server stores it: unset fields filled from the schema."""
    if isinstance(value, dict):
        filled = dict(value)
        for name, child in schema.get("properties", {}).items():
            if name in filled:
                filled[name] = with_defaults(filled[name], child)
            elif "default" in child:
                filled[name] = with_defaults(copy.deepcopy(child["default"]), child)
        if other := schema.get("additionalProperties"):
            return {key: with_defaults(item, other) for key, item in filled.items()}
        return filled
    if isinstance(value, list) and "items" in schema:
        return [with_defaults(item, schema["items"]) for item in value]
    return value


def schemas() -> dict[tuple[str, str], Schema]:
    """The whole-object schema of each of our kinds, by API version and kind."""
    found = {}
    for manifest in crd.manifests():
        spec = manifest["spec"]
        for version in spec["versions"]:
            api_version = f"{spec['group']}/{version['name']}"
            found[api_version, spec["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


def examples() -> list[dict[str, Any]]:
    """Every object in the examples folder."""
    files = sorted(EXAMPLES.glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def identify(obj: dict[str, Any]) -> str:
    """Name an object for the list of tests."""
    return f"{obj['kind']}/{obj['metadata']['name']}"


def examples_with_status() -> list[dict[str, Any]]:
    """An example of each kind whose status is known, with that status."""
    reported = list(yaml.safe_load_all(STATUSES.read_text()))
    found = []
    for status in reported:
        of_kind = (each for each in examples() if each["kind"] == status["kind"])
        found.append(next(of_kind) | {"status": status["status"]})
    return found
