"""Views of foreign kinds speak the real operators' language.

The schemas of the real operators are checked out next to the project in CI; without them the
examples are still written and read back.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec import inspect

from cobaltcore.api import foreign
from cobaltcore.api.foreign import kubernetes, manifest
from cobaltcore.runtime.meta import Condition, Key, Kind, Struct
from tests.support.real_schemas import SCHEMAS, real_schema
from tests.unit.api.foreign_example import Example
from tests.unit.api.foreign_examples import EXAMPLES

KEY = Key("openstack", "example")


def unknown_fields(view: inspect.Type, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Fields of a view that the real schema does not have."""
    match view:
        case inspect.StructType(cls=cls) if cls is Condition:
            return
        case inspect.StructType(fields=fields) if "properties" in schema:
            known = schema["properties"]
            for field in fields:
                name = f"{path}.{field.encode_name}"
                if field.encode_name not in known:
                    yield name
                yield from unknown_fields(field.type, known.get(field.encode_name, {}), name)
        case _:
            for member, below in _members(view, schema):
                yield from unknown_fields(member, below, path)


def _members(
    view: inspect.Type, schema: dict[str, Any]
) -> Iterator[tuple[inspect.Type, dict[str, Any]]]:
    match view:
        case inspect.ListType(item_type=item):
            yield item, schema.get("items", {})
        case inspect.DictType(value_type=value):
            below = schema.get("additionalProperties")
            yield value, below if isinstance(below, dict) else {}
        case inspect.UnionType(types=members):
            yield from ((member, schema) for member in members)


def _name(example: Example) -> str:
    return str(example.kind)


@pytest.mark.parametrize("example", EXAMPLES, ids=_name)
def test_example_is_valid_for_the_real_operator_and_reads_back(example: Example) -> None:
    obj = manifest.manifest(example.kind, KEY, example.spec)
    schema = real_schema(example.kind)
    if schema is not None:
        jsonschema.Draft202012Validator(schema).validate(obj)

    assert (
        msgspec.to_builtins(manifest.spec_of(obj, example.view or type(example.spec)))
        == obj["spec"]
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=_name)
def test_every_field_of_a_view_exists_in_the_real_kind(example: Example) -> None:
    parts = {"spec": example.view or type(example.spec), "status": example.status}
    schema = real_schema(example.kind)
    if schema is None:
        schema = {"properties": {part: {} for part in parts}}

    unknown = [
        name
        for part, view in parts.items()
        for name in unknown_fields(inspect.type_info(view), schema["properties"][part], part)
    ]

    assert unknown == []


def test_every_foreign_kind_that_we_touch_has_an_example() -> None:
    shown = {str(example.kind) for example in EXAMPLES}
    modules = pkgutil.iter_modules(foreign.__path__, f"{foreign.__name__}.")
    touched = {
        str(value)
        for module in modules
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(value, Kind)
    }
    files = SCHEMAS.glob("*.yaml") if SCHEMAS.is_dir() else []

    assert {file.stem for file in files} & touched <= shown


def test_manifest_of_a_cluster_scoped_kind_has_no_namespace() -> None:
    cluster_issuer = next(e for e in EXAMPLES if e.kind.kind == "ClusterIssuer")

    obj = manifest.manifest(cluster_issuer.kind, KEY, cluster_issuer.spec)

    assert obj["metadata"] == {"name": "example"}


def test_status_of_an_object_without_status_reads_as_empty() -> None:
    assert manifest.status_of({"metadata": {}}, kubernetes.JobStatus) == kubernetes.JobStatus()


def test_status_ignores_what_the_view_does_not_know() -> None:
    deployment = {
        "status": {
            "observedGeneration": 3,
            "readyReplicas": 2,
            "collisionCount": 1,
            "conditions": [{"type": "Available", "status": "True", "lastUpdateTime": "now"}],
        }
    }

    status = manifest.status_of(deployment, kubernetes.DeploymentStatus)

    assert status == kubernetes.DeploymentStatus(
        observed_generation=3,
        ready_replicas=2,
        conditions=[Condition(type="Available", status="True")],
    )


def test_kubernetes_kinds_are_distinguished_by_group_and_plural() -> None:
    kinds = [value for value in vars(kubernetes).values() if isinstance(value, Kind)]

    assert len({str(kind) for kind in kinds}) == len(kinds) > 30
    assert all(issubclass(v, Struct) for v in (kubernetes.PodStatus, kubernetes.NodeStatus))
