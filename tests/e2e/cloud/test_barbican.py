"""Secrets and encrypted volumes in a cloud with Barbican."""

import json
from collections.abc import Iterator

import pytest

from cobaltcore.runtime import conditions
from cobaltlab.cloud.objects import CONTROL_PLANE
from tests.support import healing
from tests.support.cloud import DEMO, NAMESPACE, Cloud
from tests.support.lab import Lab, eventually

KINDS = ("barbicans", "cinders", "novas")
PAYLOAD = "an example of a secret"
ENCRYPTED = "encrypted"
WRITTEN = "guest: disk vdb: written by"
LUKS_MAGIC = "LUKS"


@pytest.fixture(scope="module", autouse=True)
def barbican(lab: Lab) -> None:
    """Enable Barbican; Nova and Cinder are rolled out with it as key manager."""
    patch = json.dumps({"spec": {"services": {"barbican": {"enabled": True}}}})
    lab.kubectl(
        "patch", "controlplane", "-n", NAMESPACE, CONTROL_PLANE.name, "--type=merge", f"-p={patch}"
    )
    eventually(lambda: all(is_current(lab, kind) for kind in KINDS), "all use Barbican")
    eventually(lambda: healing.is_whole(lab), "the ControlPlane is Ready")


def is_current(lab: Lab, kind: str) -> bool:
    """Whether a service is Ready with its newest spec, and has Barbican as its key manager."""
    (found,) = lab.get(kind, "-n", NAMESPACE)["items"] or [{"spec": {}}]
    generation = found.get("metadata", {}).get("generation")
    ready = conditions.is_true(conditions.of(found), "Ready", generation=generation)
    return ready and (kind == "barbicans" or "keyManager" in found["spec"])


def references(cloud: Cloud) -> set[str]:
    """The secrets in Barbican."""
    return {each["Secret href"] for each in cloud.get("secret", "list", "--limit", "100")}


@pytest.fixture
def encrypted_volume(cloud: Cloud) -> Iterator[str]:
    """A volume of an encrypted type, by its ID; its key is deleted with it."""
    before = references(cloud)
    cloud.run(
        "volume", "type", "create", "--encryption-provider", "luks",
        "--encryption-cipher", "aes-xts-plain64", "--encryption-key-size", "256",
        "--encryption-control-location", "front-end", ENCRYPTED,
    )  # fmt: skip
    created = cloud.get("volume", "create", "--size", "1", "--type", ENCRYPTED, ENCRYPTED)
    cloud.wait_for_status("volume", created["id"], "available")
    assert len(references(cloud) - before) == 1
    yield created["id"]
    cloud.remove("volume", created["id"])
    eventually(
        lambda: created["id"] not in [each["ID"] for each in cloud.get("volume", "list")],
        "the volume is deleted",
    )
    cloud.run("volume", "type", "delete", ENCRYPTED)
    assert references(cloud) == before


def first_bytes(lab: Lab, volume: str) -> str:
    """The beginning of a volume as Ceph stores it."""
    (cinder,) = lab.get("cinders", "-n", NAMESPACE)["items"]
    (backend,) = cinder["spec"]["backends"]
    name, pool = backend["name"], backend["rbd"]["pool"]
    user = backend["rbd"].get("user") or backend["rbd"]["cephClientRef"]["name"]
    read = (
        f"rbd --conf /etc/ceph/{name}.conf --id {user} export --no-progress "
        f"{pool}/volume-{volume} - | head -c {len(LUKS_MAGIC)}"
    )
    pod = ("exec", "-n", NAMESPACE, "deployment/cinder-volume", "-c", "cinder-volume")
    return lab.kubectl(*pod, "--", "sh", "-c", read)


def test_a_secret_is_stored_and_read(cloud: Cloud) -> None:
    stored = cloud.get("secret", "store", "--name", "example", "--payload", PAYLOAD)
    reference = stored["Secret href"]
    assert reference.startswith("https://")
    assert cloud.get("secret", "get", reference, "--payload")["Payload"] == PAYLOAD
    cloud.run("secret", "delete", reference)
    assert reference not in references(cloud)


def test_a_key_is_ordered_and_generated(cloud: Cloud) -> None:
    order = cloud.get(
        "secret", "order", "create", "--name", "key", "--algorithm", "aes", "--bit-length", "256",
        "--mode", "cbc", "key",
    )["Order href"]  # fmt: skip
    eventually(
        lambda: cloud.get("secret", "order", "get", order)["Status"] == "ACTIVE",
        "the order is processed",
    )
    key = cloud.get("secret", "order", "get", order)["Secret href"]
    assert cloud.get("secret", "get", key)["Bit length"] == 256
    cloud.run("secret", "order", "delete", order)
    cloud.run("secret", "delete", key)


def test_an_encrypted_volume_is_attached_and_written(
    lab: Lab, cloud: Cloud, encrypted_volume: str
) -> None:
    assert cloud.get("volume", "show", encrypted_volume)["encrypted"] is True
    assert first_bytes(lab, encrypted_volume) == LUKS_MAGIC
    before = cloud.console(DEMO).count(WRITTEN)
    cloud.run("server", "add", "volume", DEMO, encrypted_volume)
    eventually(
        lambda: cloud.console(DEMO).count(WRITTEN) > before, "the server writes to the volume"
    )
    cloud.run("server", "remove", "volume", DEMO, encrypted_volume)
    cloud.wait_for_status("volume", encrypted_volume, "available")
    assert first_bytes(lab, encrypted_volume) == LUKS_MAGIC
