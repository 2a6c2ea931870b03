"""Objects and CRDs of the last landing with the types of this tree, in a real API server."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from cobaltcore.api import base, crd
from tests.support import landing, structural
from tests.support.control_plane import ControlPlaneHarness, KubectlError

DEFINITIONS = {each.kind.kind: each for each in base.definitions()}
OLD = landing.objects()
NAMES = [structural.identify(each) for each in OLD]


@pytest.fixture(scope="module")
def upgraded() -> Iterator[ControlPlaneHarness]:
    """An API server whose objects were stored before the CRDs were upgraded."""
    with ControlPlaneHarness() as plane:
        plane.install_crds(landing.crds())
        _store(plane, OLD)
        _replace_crds(plane, crd.manifests())
        yield plane


@pytest.fixture(scope="module")
def behind() -> Iterator[ControlPlaneHarness]:
    """An API server with the old CRDs, and objects of this tree in it."""
    with ControlPlaneHarness() as plane:
        plane.install_crds(landing.crds())
        known = {each["spec"]["names"]["kind"] for each in landing.crds()}
        _store(plane, [each for each in structural.examples() if each["kind"] in known])
        yield plane


def _store(plane: ControlPlaneHarness, objects: list[dict[str, Any]]) -> None:
    """Create objects with their statuses; fields that the CRDs do not know are dropped."""
    spaces = {each["metadata"].get("namespace", "default") for each in objects} - {"default"}
    for each in sorted(spaces):
        plane.kubectl("create", "namespace", each)
    text = yaml.safe_dump_all(objects)
    plane.kubectl("apply", "--server-side", "--validate=false", "-f", "-", input=text)
    with_status = yaml.safe_dump_all(each for each in objects if each.get("status"))
    if with_status:
        status = ("--subresource=status", "--force-conflicts")
        plane.kubectl("apply", "--server-side", *status, "-f", "-", input=with_status)


def _replace_crds(plane: ControlPlaneHarness, manifests: list[dict[str, Any]]) -> None:
    text = yaml.safe_dump_all(manifests)
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all")


def _read(plane: ControlPlaneHarness, wanted: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(plane.kubectl("get", *_named(wanted), "-o", "yaml"))
    return found


def _named(wanted: dict[str, Any]) -> list[str]:
    kind = DEFINITIONS[wanted["kind"]].kind
    metadata = wanted["metadata"]
    place = ["-n", metadata["namespace"]] if "namespace" in metadata else []
    return [f"{kind.plural}.{kind.group}", metadata["name"], *place]


@pytest.mark.parametrize("old", OLD, ids=NAMES)
def test_stored_object_is_read_by_the_types_of_this_tree(
    upgraded: ControlPlaneHarness, old: dict[str, Any]
) -> None:
    live = _read(upgraded, old)
    msgspec.convert(live, DEFINITIONS[old["kind"]].struct)
    assert live.get("status") == old.get("status")


@pytest.mark.parametrize("old", OLD, ids=NAMES)
def test_stored_object_stays_writable(upgraded: ControlPlaneHarness, old: dict[str, Any]) -> None:
    """As operators write it: finalizers and annotations."""
    upgraded.kubectl("annotate", *_named(old), "test/written=yes", "--overwrite")


@pytest.mark.parametrize("current", structural.examples(), ids=structural.identify)
def test_types_of_this_tree_read_what_old_crds_keep(
    behind: ControlPlaneHarness, current: dict[str, Any]
) -> None:
    live = _read(behind, current)
    msgspec.convert(live, DEFINITIONS[current["kind"]].struct)


def test_object_that_a_stricter_schema_refuses_stays_writable_but_for_the_field(
    upgraded: ControlPlaneHarness,
) -> None:
    old = next(each for each in OLD if each["kind"] == "Keystone")
    strict = copy.deepcopy(
        next(each for each in crd.manifests() if each["spec"]["names"]["kind"] == "Keystone")
    )
    schema = strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["replicas"] |= {"maximum": 1, "default": 1}
    _replace_crds(upgraded, [strict])

    def is_strict() -> bool:
        fresh = yaml.safe_dump({**old, "metadata": {**old["metadata"], "name": "fresh"}})
        dry = ("--server-side", "--dry-run=server", "-f", "-")
        return _is_refused(upgraded, "apply", *dry, input=fresh)

    try:
        upgraded.wait_until(is_strict, what="new objects are refused")
        upgraded.kubectl("annotate", *_named(old), "test/strict=yes", "--overwrite")
        patch = '{"status": {"observedGeneration": 7}}'
        merge = ("--subresource=status", "--type=merge", "-p", patch)
        upgraded.kubectl("patch", *_named(old), *merge)
    finally:
        _replace_crds(upgraded, crd.manifests())


def _is_refused(plane: ControlPlaneHarness, *arguments: str, input: str) -> bool:  # noqa: A002
    try:
        plane.kubectl(*arguments, input=input)
    except KubectlError as error:
        return "replicas" in str(error)
    return False
