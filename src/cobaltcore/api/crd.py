"""Definitions to CustomResourceDefinition manifests and their YAML. Pure: no I/O."""

from collections.abc import Iterable
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from cobaltcore.api import base, descriptions, schema
from cobaltcore.runtime.meta import Object

CATEGORY = "cobalt"


def manifest(definition: base.Definition) -> Object:
    """The CustomResourceDefinition that serves a kind."""
    kind = definition.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"app.kubernetes.io/part-of": "cobaltcore"},
        },
        "spec": {
            "group": kind.group,
            "names": _names(definition),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(definition)],
        },
    }


def manifests() -> list[Object]:
    """The definitions of all our kinds, in order of name."""
    return sorted(map(manifest, base.definitions()), key=lambda crd: str(crd["metadata"]["name"]))


def to_yaml(objects: Iterable[Object]) -> str:
    """Write objects as one deterministic YAML stream."""
    return yaml.dump_all(
        objects, Dumper=_Dumper, sort_keys=False, width=96, allow_unicode=True, explicit_start=True
    )


def openapi(definition: base.Definition) -> schema.Schema:
    """The whole-object schema of a kind."""
    spec, status = _parts(definition.struct)
    properties = {
        "apiVersion": {
            "type": "string",
            "description": f"Version of this shape: {definition.kind.api_version}.",
        },
        "kind": {"type": "string", "description": f"Always {definition.kind.kind}."},
        "metadata": {"type": "object"},
        "spec": schema.of_struct(spec),
        "status": schema.of_struct(status, defaults=False),
    }
    whole: schema.Schema = {
        "type": "object",
        "description": descriptions.of_class(definition.struct),
        "properties": properties,
        "required": ["spec"],
    }
    if rules := schema.rules(definition.struct):
        whole["x-kubernetes-validations"] = rules
    return whole


def _names(definition: base.Definition) -> dict[str, Any]:
    kind = definition.kind
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "categories": [CATEGORY],
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    return names


def _version(definition: base.Definition) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}}
    if definition.scale:
        subresources["scale"] = {
            "specReplicasPath": definition.scale.spec_replicas,
            "statusReplicasPath": definition.scale.status_replicas,
            "labelSelectorPath": definition.scale.selector,
        }
    return {
        "name": definition.kind.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in definition.columns],
        "schema": {"openAPIV3Schema": openapi(definition)},
        "subresources": subresources,
    }


def _column(column: base.Column) -> dict[str, Any]:
    out: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        out["priority"] = column.priority
    return out


def _parts(struct: type[msgspec.Struct]) -> tuple[type[msgspec.Struct], type[msgspec.Struct]]:
    info = inspect.type_info(struct)
    if not isinstance(info, inspect.StructType):
        raise schema.SchemaError(f"{struct.__name__} is not a struct")
    parts = {field.name: _struct_of(field.type) for field in info.fields}
    spec, status = parts["spec"], parts["status"]
    if spec is None or status is None:
        raise schema.SchemaError(f"{struct.__name__} needs a struct for spec and for status")
    return spec, status


def _struct_of(info: inspect.Type) -> type[msgspec.Struct] | None:
    members = info.types if isinstance(info, inspect.UnionType) else (info,)
    return next((m.cls for m in members if isinstance(m, inspect.StructType)), None)


class _Dumper(yaml.SafeDumper):
    """Repeats equal values instead of writing YAML anchors."""

    def ignore_aliases(self, _data: object) -> bool:
        return True
