"""The examples of the requirements with real pods, without a ControlPlane: Ready and usable."""

import json
from pathlib import Path
from typing import Any

import pytest

from cobaltcore.runtime.meta import Object
from tests.support import lab_examples
from tests.support.cloud import Cloud, raw_disk
from tests.support.lab import Lab, eventually
from tests.support.lab_ovn import NODES

SERVICES = [each for each in lab_examples.KINDS if each != "OVNCluster"]


@pytest.mark.parametrize("kind", lab_examples.KINDS)
def test_an_example_becomes_ready_with_its_documented_conditions(
    lab: Lab, applied: dict[str, Object], kind: str
) -> None:
    conditions = _status_when_ready(lab, applied[kind])["conditions"]
    assert {each["type"] for each in conditions} >= lab_examples.documented_conditions(kind)
    assert {each["type"]: each["status"] for each in conditions if each["status"] != "True"} == {}


@pytest.mark.parametrize("kind", SERVICES)
def test_the_endpoint_is_the_documented_one(
    lab: Lab, applied: dict[str, Object], kind: str
) -> None:
    endpoint = _status_when_ready(lab, applied[kind])["endpoint"]
    assert endpoint == lab_examples.documented_endpoint(kind)


def test_ovn_reports_tls_endpoints_and_every_hypervisor(
    lab: Lab, applied: dict[str, Object]
) -> None:
    status = _status_when_ready(lab, applied["OVNCluster"])
    host = "ovn-system.svc.cluster.local"
    assert status["endpoints"] == {
        "northbound": f"ssl:ovn-nb.{host}:6641",
        "southbound": f"ssl:ovn-sb.{host}:6642",
    }
    assert (status["chassisCount"], status["activeControllers"]) == (len(NODES), len(NODES))


def test_nova_reports_the_hypervisors_of_its_cell(lab: Lab, applied: dict[str, Object]) -> None:
    status = _status_when_ready(lab, applied["Nova"])
    assert status["cells"] == [{"name": "cell1", "status": "Ready", "computeNodes": len(NODES)}]


def test_cinder_reports_the_capacity_of_its_backend(lab: Lab, applied: dict[str, Object]) -> None:
    (backend,) = _status_when_ready(lab, applied["Cinder"])["backends"]
    capacity = backend.pop("availableCapacityGb")
    assert backend == {"name": "ceph-rbd", "status": "Ready"}
    assert capacity > 0


def test_no_control_plane_exists(lab: Lab, applied: dict[str, Object]) -> None:
    assert lab.get("controlplanes", "-A")["items"] == []


def test_the_services_work_together(
    lab: Lab, applied: dict[str, Object], cloud: Cloud, tmp_path: Path
) -> None:
    for each in applied.values():
        _status_when_ready(lab, each)
    # Ready means usable: nothing is waited for from here on.
    agents = cloud.get("network", "agent", "list")
    assert {each["Host"] for each in agents if each["Alive"]} == set(NODES)
    assert [each for each in agents if not each["Alive"]] == []
    computes = cloud.get("compute", "service", "list")
    assert {each["Host"] for each in computes if each["Binary"] == "nova-compute"} == set(NODES)
    volumes = cloud.get("volume", "service", "list")
    assert {each["Binary"] for each in volumes} == {"cinder-scheduler", "cinder-volume"}
    assert [each for each in (*computes, *volumes) if each["State"] != "up"] == []
    assert cloud.get("token", "issue")["id"]
    catalogue = {each["Name"]: each["Endpoints"] for each in cloud.get("catalog", "list")}
    for kind in SERVICES:
        urls = {each["url"] for each in catalogue[kind.lower()]}
        assert all(url.startswith(lab_examples.documented_endpoint(kind)) for url in urls), urls

    image = cloud.get("image", "create", *raw_disk(tmp_path / "disk.raw"), "example")["id"]
    cloud.wait_for_status("image", image, "active")
    volume = cloud.get("volume", "create", "--image", image, "--size", "1", "example")["id"]
    cloud.wait_for_status("volume", volume, "available")
    cloud.run("volume", "delete", volume)
    cloud.run("image", "delete", image)

    assert len(cloud.get("hypervisor", "list")) == len(NODES)


def test_a_policy_that_forbids_a_list_is_named(lab: Lab, applied: dict[str, Object]) -> None:
    placement = applied["Placement"]
    rules = {"placement:resource_classes:list": "!"}
    _configure(lab, placement, {"policyOverrides": {"rules": rules}})

    def refusal() -> str:
        return _condition(lab, placement, "APIReady").get("reason", "")

    eventually(lambda: refusal() == "Forbidden", "APIReady names the policy")
    message = _condition(lab, placement, "Ready")["message"]
    assert "/resource_classes: 403" in message
    assert "policyOverrides" in message
    _configure(lab, placement, {"policyOverrides": placement["spec"].get("policyOverrides")})
    eventually(lambda: refusal() == "Serving", "the API is usable again")
    _status_when_ready(lab, placement)


def _configure(lab: Lab, example: Object, spec: Object) -> None:
    kind, meta = example["kind"].lower(), example["metadata"]
    patch = json.dumps({"spec": spec})
    lab.kubectl("patch", kind, meta["name"], "-n", meta["namespace"], "--type=merge", "-p", patch)


def _condition(lab: Lab, example: Object, name: str) -> dict[str, str]:
    kind, meta = example["kind"].lower(), example["metadata"]
    found = lab.get(kind, "-n", meta["namespace"], meta["name"])["status"]["conditions"]
    return next((each for each in found if each["type"] == name), {})


def _status_when_ready(lab: Lab, example: Object) -> dict[str, Any]:
    """Wait until the current generation of an object is Ready; return its status."""
    kind, meta = example["kind"].lower(), example["metadata"]
    status: dict[str, Any] = {}

    def is_ready() -> bool:
        found = lab.get(kind, "-n", meta["namespace"], meta["name"])
        status.clear()
        status.update(found.get("status", {}))
        ready = [c["status"] for c in status.get("conditions", ()) if c["type"] == "Ready"]
        return (
            ready == ["True"] and status["observedGeneration"] == found["metadata"]["generation"]
        )

    try:
        eventually(is_ready, f"{example['kind']} {meta['name']} is Ready")
    except AssertionError as error:
        pods = lab.attempt("get", "pods", "-A", "-o", "wide")
        raise AssertionError(f"{error}\n{status.get('conditions')}\n{pods}") from error
    return status
