"""Objects as the requirements and our examples show them: accepted, and read back as written."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import objects, seeds, structural
from tests.support.control_plane import ControlPlaneHarness

Create = Callable[[dict[str, Any]], dict[str, Any]]
SEEDS = seeds.documents()
WITH_STATUS = [each for each in SEEDS if "status" in each] + structural.examples_with_status()
SCHEMAS = structural.schemas()


def schema_of(obj: dict[str, Any], part: str) -> structural.Schema:
    found: structural.Schema = SCHEMAS[obj["apiVersion"], obj["kind"]]["properties"][part]
    return found


def with_owners_that_exist(plane: ControlPlaneHarness, obj: dict[str, Any]) -> dict[str, Any]:
    """Fill in the uid of owners, which the texts leave out and the API server asks for."""
    owners = obj["metadata"].get("ownerReferences", [])
    if not owners:
        return obj
    filled = [owner | {"uid": node_uid(plane, owner["name"])} for owner in owners]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": filled}}


def node_uid(plane: ControlPlaneHarness, name: str) -> str:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    existing = plane.request("GET", "/api/v1/nodes")["items"]
    of_name = [each for each in existing if each["metadata"]["name"] == name]
    found = of_name[0] if of_name else plane.request("POST", "/api/v1/nodes", node)
    return str(found["metadata"]["uid"])


@pytest.mark.parametrize("obj", [*SEEDS, *structural.examples()], ids=structural.identify)
def test_object_is_accepted_and_keeps_every_field(
    installed_crds: ControlPlaneHarness, create: Create, obj: dict[str, Any]
) -> None:
    sent = with_owners_that_exist(installed_crds, obj)
    create(sent)
    stored = installed_crds.request("GET", objects.path(obj))
    assert stored["spec"] == structural.with_defaults(obj["spec"], schema_of(obj, "spec"))
    for field, value in sent["metadata"].items():
        assert stored["metadata"][field] == value


@pytest.mark.parametrize("obj", WITH_STATUS, ids=structural.identify)
def test_status_is_accepted_and_keeps_every_field(
    installed_crds: ControlPlaneHarness, create: Create, obj: dict[str, Any]
) -> None:
    stored = create(with_owners_that_exist(installed_crds, obj))
    target = f"{objects.path(obj)}/status?fieldValidation=Strict"
    installed_crds.request("PUT", target, stored | {"status": obj["status"]})
    assert installed_crds.request("GET", objects.path(obj))["status"] == obj["status"]


@pytest.mark.parametrize("obj", [*SEEDS, *structural.examples()], ids=structural.identify)
def test_object_can_be_written_back_unchanged(
    installed_crds: ControlPlaneHarness, create: Create, obj: dict[str, Any]
) -> None:
    stored = create(with_owners_that_exist(installed_crds, obj))
    again = installed_crds.request("PUT", objects.path(obj), stored)
    assert again["metadata"]["generation"] == stored["metadata"]["generation"]


if seeds.FOLDER.exists():

    def test_seeds_show_every_service() -> None:
        kinds = [kind for kind, _ in itertools.groupby(sorted(each["kind"] for each in SEEDS))]
        assert kinds == [
            "Cinder", "ControlPlane", "Cortex", "Glance", "Keystone", "Neutron", "Nova",
            "OVNChassis", "OVNCluster", "Placement", "Tempest",
        ]  # fmt: skip
