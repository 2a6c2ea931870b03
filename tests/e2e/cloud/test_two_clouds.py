"""Two independent ControlPlanes in one cluster."""

from typing import Any

from tests.support.cloud import NAMESPACE, Cloud, requesting
from tests.support.lab import Lab, eventually

SECOND = "second"
OFF = {"enabled": False}
ON = ("keystone", "glance", "placement")


def a_second_plane(first: dict[str, Any]) -> dict[str, Any]:
    """A small one with the images of the first, without hypervisors."""
    images = first["spec"]["services"]
    services = {each: {"image": images[each]["image"]} for each in ON}
    return {
        "apiVersion": first["apiVersion"],
        "kind": "ControlPlane",
        "metadata": {"name": SECOND},
        "spec": {
            "global": {"replicas": 1},
            "services": {**services, **dict.fromkeys(("nova", "neutron", "cinder"), OFF)},
            "deletionPolicy": "Delete",
        },
    }


def is_ready(lab: Lab) -> bool:
    status = lab.get("controlplane", SECOND, "-n", SECOND).get("status", {})
    return any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions", ())
    )


def restarts(lab: Lab) -> dict[str, int]:
    """Restart counts of the first cloud's pods, by UID."""
    return {
        pod["metadata"]["uid"]: sum(
            each["restartCount"] for each in pod["status"].get("containerStatuses", ())
        )
        for pod in lab.get("pods", "-n", NAMESPACE)["items"]
        if pod["status"]["phase"] == "Running"
    }


def test_deleting_one_control_plane_does_not_affect_the_other(lab: Lab, cloud: Cloud) -> None:
    lab.kubectl("create", "namespace", SECOND)
    lab.create(SECOND, a_second_plane(lab.get("controlplane", "lab", "-n", NAMESPACE)))
    eventually(lambda: is_ready(lab), "the second control plane is Ready")
    before = restarts(lab)
    with requesting(cloud) as requests:
        lab.kubectl("delete", "controlplane", SECOND, "-n", SECOND, "--timeout=10m")
        lab.kubectl("delete", "namespace", SECOND, "--timeout=10m")
    assert restarts(lab) == before
    assert requests.sent > 10
    assert requests.failed == []
