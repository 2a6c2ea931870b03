"""Block storage is switched off and on again, with its volumes."""

from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import Lab, eventually

VOLUME = "kept"
KORC = "users.openstack.k-orc.cloud,applicationcredentials.openstack.k-orc.cloud"


def cinder(lab: Lab) -> list[str]:
    """What is left of Cinder: its object, its pods, its user and credential in Keystone."""
    kinds = f"cinders,deployments,{KORC}"
    found = lab.get(kinds, "-n", NAMESPACE).get("items", [])
    return [each["metadata"]["name"] for each in found if "cinder" in each["metadata"]["name"]]


def test_volumes_outlive_their_service(lab: Lab, cloud: Cloud) -> None:
    cloud.run("volume", "create", "--size", "1", VOLUME)
    cloud.wait_for_status("volume", VOLUME, "available")
    before = cloud.get("volume", "show", VOLUME)["id"]
    cloud.change(services={"cinder": {"enabled": False}})
    eventually(cloud.is_ready, "the control plane is Ready without Cinder")
    eventually(lambda: not cinder(lab), "nothing of Cinder is left")
    assert "cinder" not in cloud.run("catalog", "list")
    cloud.change(services={"cinder": {"enabled": True}})
    eventually(lambda: cinder(lab) and cloud.is_ready(), "the control plane is Ready with Cinder")
    assert cloud.get("volume", "show", VOLUME)["id"] == before
    cloud.run("volume", "delete", VOLUME)
    eventually(lambda: VOLUME not in cloud.run("volume", "list"), "the volume is deleted")
