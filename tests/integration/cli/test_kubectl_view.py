"""What users see of our kinds through kubectl."""

import yaml

from tests.support.control_plane import ControlPlaneHarness


def test_get_cobalt_lists_our_objects(installed_crds: ControlPlaneHarness, namespace: str) -> None:
    plane = {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "ControlPlane",
        "metadata": {"name": "lab", "namespace": namespace},
        "spec": {"openStackRelease": "2025.2"},
    }
    aggregate = {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "SecretAggregate",
        "metadata": {"name": "all", "namespace": namespace},
        "spec": {"sources": [{"secretRef": {"name": "a"}}], "target": {"name": "b"}},
    }
    installed_crds.kubectl("create", "-f", "-", input=yaml.safe_dump_all([plane, aggregate]))
    listed = installed_crds.kubectl("get", "cobalt", "-A")
    assert "controlplane.c5c3.io/lab" in listed
    assert "secretaggregate.c5c3.io/all" in listed


def test_get_controlplanes_prints_the_columns_that_operators_look_for(
    installed_crds: ControlPlaneHarness, namespace: str
) -> None:
    plane = {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "ControlPlane",
        "metadata": {"name": "columns", "namespace": namespace},
        "spec": {"openStackRelease": "2025.2"},
    }
    installed_crds.kubectl("create", "-f", "-", input=yaml.safe_dump(plane))
    header = installed_crds.kubectl("get", "controlplanes", "-n", namespace).splitlines()[0]
    wanted = ["NAME", "READY", "PROGRESS", "RELEASE", "MESSAGE", "AGE"]
    assert [word for word in header.split() if word in wanted] == wanted


def test_explain_reads_well(installed_crds: ControlPlaneHarness) -> None:
    text = installed_crds.kubectl("explain", "controlplane.spec")
    assert "infrastructure" in text
    assert "services" in text
    assert "<no description>" not in text
    assert "FIELDS:" in text
