"""Schemas of the real third-party operators, where they are checked out next to the project."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.api.foreign.gateway import REFERENCE_GRANT
from cobaltcore.runtime.meta import Kind

SCHEMAS = Path(__file__).resolve().parents[3] / "shared" / "crds"
UNAVAILABLE = {REFERENCE_GRANT}
"""Kinds whose schema is not among them."""


@cache
def real_schema(kind: Kind) -> dict[str, Any] | None:
    """The real operator's schema of a kind, closed for fields that it does not know."""
    if kind in UNAVAILABLE or not SCHEMAS.is_dir():
        return None
    text = (SCHEMAS / f"{kind.plural}.{kind.group}.yaml").read_text()
    definition = yaml.load(text, Loader=yaml.CSafeLoader)
    spec = definition["spec"]
    assert spec["names"]["kind"] == kind.kind
    assert (spec["scope"] == "Namespaced") == kind.namespaced
    served = {v["name"]: v for v in spec["versions"] if v["served"]}
    schema: dict[str, Any] = served[kind.version]["schema"]["openAPIV3Schema"]
    _close(schema)
    return schema


def _close(schema: dict[str, Any]) -> None:
    if schema.pop("x-kubernetes-int-or-string", False):
        schema.pop("type", None)
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema["additionalProperties"] = False
    below = list(schema.get("properties", {}).values())
    below += [schema[w] for w in ("items", "additionalProperties") if _is_schema(schema.get(w))]
    for child in below:
        _close(child)
    if "metadata" in schema.get("properties", {}) and "spec" in schema["properties"]:
        schema["properties"]["metadata"].pop("additionalProperties", None)


def _is_schema(value: object) -> bool:
    return isinstance(value, dict)
