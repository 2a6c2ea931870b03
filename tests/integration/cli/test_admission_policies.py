"""The shipped ValidatingAdmissionPolicies on a real API server, without any operator."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from cobaltcore.api import crd
from cobaltcore.deploy import admission, symbols
from cobaltcore.deploy.symbols import Part, Scope
from cobaltcore.deploy.values import defaults, merge
from tests.support import objects, structural
from tests.support.control_plane import ControlPlaneHarness, HttpError

EVIL = {"repository": "evil.example/c5c3/nova", "tag": "1"}
ELSEWHERE = {"node-role.kubernetes.io/control-plane": ""}
CASES = [
    ("Nova", "spec.image", EVIL),
    ("Nova", "spec.compute.libvirtImage", EVIL),
    ("Nova", "spec.compute.nodeSelector", ELSEWHERE),
    ("Neutron", "spec.image", EVIL),
    ("Neutron", "spec.metadataAgent.nodeSelector", ELSEWHERE),
    ("OVNCluster", "spec.ovnImage", EVIL),
    ("OVNCluster", "spec.ovsImage", EVIL),
    ("OVNCluster", "spec.controller.nodeSelector", ELSEWHERE),
    ("OVNCluster", "spec.ovs.nodeSelector", ELSEWHERE),
]
REQUIRED = {
    ("Nova", "spec.image"),
    ("OVNCluster", "spec.ovnImage"),
    ("OVNCluster", "spec.ovsImage"),
}
KINDS = sorted({kind for kind, *_ in CASES})


@pytest.fixture(scope="module")
def guarded() -> Iterator[ControlPlaneHarness]:
    """An API server where the policies are in force."""
    with ControlPlaneHarness() as plane:
        plane.install_crds(crd.manifests())
        install(plane)
        namespace = plane.create_namespace("ready")
        bad = _example("Nova", namespace, {"spec.image": EVIL})
        plane.wait_until(lambda: _refusal(plane, bad) != "", what="the policies are in force")
        yield plane


def install(plane: ControlPlaneHarness, **lists: list[str]) -> None:
    scope = Scope("", merge(defaults(), lists))
    served = [fields.kind for fields in admission.KINDS]
    parts = [Part(each) for each in admission.objects(served)]
    manifests = (
        {"apiVersion": each.kind.api_version, "kind": each.kind.kind, **each.body}
        for each in symbols.render(parts, scope)
    )
    plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(manifests))


def _example(kind: str, namespace: str, changes: dict[str, Any]) -> dict[str, Any]:
    first = next(each for each in structural.examples() if each["kind"] == kind)
    return objects.changed(objects.moved(first, name="tried", namespace=namespace), changes)


def _refusal(plane: ControlPlaneHarness, obj: dict[str, Any]) -> str:
    """Why the API server refuses a new object; empty if it accepts it."""
    try:
        plane.request("POST", f"{objects.collection(obj)}?dryRun=All", obj)
    except HttpError as error:
        assert error.status == 422, error  # noqa: PT017 any other status is a fault
        return str(error)
    return ""


def test_every_field_of_the_policies_has_a_case() -> None:
    fields = {
        (each.kind.kind, f"spec.{path}")
        for each in admission.KINDS
        for path in (*each.images, *each.selectors)
    }
    assert fields == {(kind, field) for kind, field, _ in CASES}


@pytest.mark.parametrize(("kind", "field", "value"), CASES)
def test_image_or_node_outside_of_the_lists_is_refused_with_its_field(
    guarded: ControlPlaneHarness, kind: str, field: str, value: Any
) -> None:
    refused = _refusal(guarded, _example(kind, "default", {field: value}))
    assert f"{field}.repository" in refused if "repository" in value else field in refused
    assert "operator allows" in refused


@pytest.mark.parametrize("kind", KINDS)
def test_example_is_accepted(guarded: ControlPlaneHarness, kind: str) -> None:
    assert _refusal(guarded, _example(kind, "default", {})) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_object_without_any_of_the_fields_is_accepted(
    guarded: ControlPlaneHarness, kind: str
) -> None:
    optional = [field for of, field, _ in CASES if of == kind and (of, field) not in REQUIRED]
    removed = dict.fromkeys(optional, objects.REMOVED)
    assert _refusal(guarded, _example(kind, "default", removed)) == ""


def test_lists_are_those_of_the_settings(guarded: ControlPlaneHarness) -> None:
    image = {"repository": "mirror.example/its/nova", "tag": "1"}
    changes = {"spec.image": image, "spec.compute": {"libvirtImage": image}}
    wanted = _example("Nova", "default", changes)
    wanted["spec"]["compute"]["nodeSelector"] = {"a": "b"}
    install(
        guarded, allowedRegistries=["its.example", "mirror.example/its"], allowedNodeLabels=["a=b"]
    )
    try:
        guarded.wait_until(lambda: _refusal(guarded, wanted) == "", what="the new lists hold")
        other = objects.changed(wanted, {"spec.compute.nodeSelector": {"a": "c"}})
        assert "spec.compute.nodeSelector" in _refusal(guarded, other)
    finally:
        install(guarded)
