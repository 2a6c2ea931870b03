"""What people see of our kinds through kubectl."""

import pytest

from tests.support import structural
from tests.support.control_plane import ControlPlaneHarness

EXAMPLE = structural.EXAMPLES / "controlplane-minimal.yaml"


@pytest.fixture(scope="module")
def plane(installed_crds: ControlPlaneHarness) -> ControlPlaneHarness:
    """The API server with one ControlPlane in a namespace of its own."""
    text = EXAMPLE.read_text().replace("namespace: openstack", "namespace: kubectl")
    installed_crds.kubectl("create", "namespace", "kubectl")
    installed_crds.kubectl("create", "-f", "-", input=text)
    return installed_crds


def test_get_shows_the_columns_in_order(plane: ControlPlaneHarness) -> None:
    header = plane.kubectl("get", "controlplanes", "-n", "kubectl").splitlines()[0]
    assert header.split() == ["NAME", "READY", "PHASE", "PROGRESS", "RELEASE", "MESSAGE", "AGE"]


def test_category_lists_all_our_objects(plane: ControlPlaneHarness) -> None:
    assert "controlplane.c5c3.io/cloud" in plane.kubectl("get", "cobalt", "-A", "-o", "name")


def test_short_name_works(plane: ControlPlaneHarness) -> None:
    assert "cloud" in plane.kubectl("get", "cp", "-n", "kubectl")


def test_explain_describes_the_fields(plane: ControlPlaneHarness) -> None:
    text = plane.kubectl("explain", "controlplane.spec")
    for sentence in (
        "OpenStack services. All are on unless switched off.",
        "Settings of all parts: region, TLS, registry.",
    ):
        assert sentence in text
    assert "<empty>" not in text


def test_scale_changes_the_replicas(plane: ControlPlaneHarness) -> None:
    text = (structural.EXAMPLES / "keystone.yaml").read_text()
    text = text.replace("namespace: openstack", "namespace: kubectl")
    plane.kubectl("create", "-f", "-", input=text)
    plane.kubectl("scale", "keystone/keystone", "-n", "kubectl", "--replicas=5")
    found = plane.kubectl(
        "get", "keystone", "keystone", "-n", "kubectl", "-o", "jsonpath={.spec.replicas}"
    )
    assert found == "5"
