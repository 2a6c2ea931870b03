"""Invalid objects, refused by a real API server with a message that names the field."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.integration.api import (
    rejections_controlplane,
    rejections_network,
    rejections_openstack,
    rejections_platform,
    rejections_services,
    rejections_values,
)
from tests.support import mutations, objects, structural
from tests.support.control_plane import ControlPlaneHarness, HttpError
from tests.support.mutations import Mutation
from tests.support.rejections import Rejection

Create = Callable[[dict[str, Any]], dict[str, Any]]
STRICTLY = "fieldValidation=Strict"
REFUSED = (400, 422)
SCHEMAS = structural.schemas()
WRITTEN = [
    *rejections_openstack.REJECTIONS,
    *rejections_controlplane.REJECTIONS,
    *rejections_platform.REJECTIONS,
    *rejections_network.REJECTIONS,
    *rejections_services.REJECTIONS,
    *rejections_values.REJECTIONS,
]


def generated() -> list[Any]:
    """One parameter for each mutation of the first example of each kind."""
    seen: set[str] = set()
    found = []
    for example in structural.examples():
        if example["kind"] in seen:
            continue
        seen.add(example["kind"])
        schema = SCHEMAS[example["apiVersion"], example["kind"]]
        found += [
            pytest.param(each, id=f"{example['kind']}-{each.why}-{each.field}")
            for each in mutations.mutations(example, schema)
        ]
    return found


def identify(case: Rejection) -> str:
    return f"{case.kind}-{case.on}-{'+'.join(case.changes)}"


def example_of(case: Rejection, namespace: str) -> dict[str, Any]:
    text = (structural.EXAMPLES / f"{case.kind}.yaml").read_text()
    first = next(iter(yaml.safe_load_all(text)))
    return objects.moved(first, name=f"refused-{case.kind}", namespace=namespace)


GENERATED = generated()


@pytest.mark.parametrize("mutation", GENERATED)
def test_object_against_its_schema_is_refused(
    installed_crds: ControlPlaneHarness, api_namespace: str, mutation: Mutation
) -> None:
    obj = objects.moved(mutation.obj, name="refused", namespace=api_namespace)
    with pytest.raises(HttpError) as refused:
        installed_crds.request("POST", f"{objects.collection(obj)}?dryRun=All&{STRICTLY}", obj)
    assert refused.value.status in REFUSED
    assert mutation.field in str(refused.value)


@pytest.mark.parametrize("case", WRITTEN, ids=identify)
def test_object_against_its_meaning_is_refused(
    installed_crds: ControlPlaneHarness, api_namespace: str, create: Create, case: Rejection
) -> None:
    example = example_of(case, api_namespace)
    if case.on == "create":
        method, path = "POST", f"{objects.collection(example)}?dryRun=All&{STRICTLY}"
    else:
        example = create(example)
        method, path = "PUT", f"{objects.path(example)}?dryRun=All&{STRICTLY}"
    if case.on == "status":
        path = path.replace("?", "/status?")
    with pytest.raises(HttpError) as refused:
        installed_crds.request(method, path, objects.changed(example, case.changes))
    assert refused.value.status in REFUSED
    assert case.field in str(refused.value)


def test_enough_different_objects_are_refused() -> None:
    assert len(WRITTEN) >= 350
    assert len(GENERATED) >= 1000


def test_every_kind_is_covered() -> None:
    assert {each["kind"].lower() for each in structural.examples()} == {
        each.kind for each in WRITTEN
    }
