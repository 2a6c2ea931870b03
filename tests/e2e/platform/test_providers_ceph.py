"""Ceph in the lab: created from the example, used by QEMU from a pod, killed, kept and removed."""

import json
from collections.abc import Iterator

import pytest

from cobaltcore.api.foreign.rook import DESTROY_DATA
from tests.support import lab_providers
from tests.support.lab import CommandFailed, Lab, eventually
from tests.support.lab_ceph import LabCeph

MEBIBYTES = 32
DATA = (("pvc", "rook-ceph-mon-a"), ("pvc", "rook-ceph-osd-0"), ("secret", "rook-ceph-mon"))


@pytest.fixture(scope="module")
def images(lab: Lab) -> dict[str, str]:
    return lab_providers.images(lab, ["ceph", "libvirt"])


@pytest.fixture
def ceph(lab: Lab, namespace: str, images: dict[str, str]) -> Iterator[LabCeph]:
    found = LabCeph(lab, namespace, images)
    found.create()
    found.wait()
    yield found
    lab.kubectl("delete", "cephcluster", "-n", namespace, "--all", "--wait=false")


def test_an_image_survives_killed_daemons_and_a_recreated_cluster(ceph: LabCeph) -> None:
    ceph.wait_until_clean()
    reported = ceph.lab.get("cephcluster", "-n", ceph.namespace, "rook-ceph")["status"]
    assert reported["ceph"]["health"] == "HEALTH_OK"
    assert reported["ceph"]["fsid"] == ceph.status()["fsid"]

    glance = ceph.user("glance")
    checksum = glance.write("images/disk", mebibytes=MEBIBYTES)
    assert glance.read("images/disk") == checksum

    with pytest.raises(CommandFailed, match="Operation not permitted"):
        glance.write("volumes/disk", mebibytes=1)
    with pytest.raises(CommandFailed, match="Operation not permitted"):
        ceph.user("cinder").write("images/other", mebibytes=1)
    with pytest.raises(CommandFailed, match=r"Permission denied|Operation not permitted"):
        ceph.user("glance", key_of="cinder").read("images/disk")

    ceph.kill_daemons()
    ceph.wait_until_clean()
    assert glance.read("images/disk") == checksum

    glance.remove()
    ceph.delete()
    for kind, name in DATA:
        assert ceph.lab.get(kind, "-n", ceph.namespace, name), f"{kind} {name} is kept"
    ceph.create()
    ceph.wait()
    assert ceph.status()["fsid"] == reported["ceph"]["fsid"]
    assert ceph.user("glance").read("images/disk") == checksum


def test_data_is_deleted_if_the_object_requests_it(ceph: LabCeph) -> None:
    lab, here = ceph.lab, ("-n", ceph.namespace)
    ceph.user("glance").write("images/disk", mebibytes=1)
    lab.kubectl("delete", "cephblockpool", *here, "images", "--wait=false")

    def blocked() -> str:
        found = lab.get("cephblockpool", *here, "images")["status"]["conditions"][0]
        return str(found["message"]) if found["type"] == "DeletionIsBlocked" else ""

    assert "1 images, for example 'disk'" in eventually(blocked, "a pool with images is kept")
    lab.kubectl("annotate", "cephblockpool", *here, "images", "rook.io/force-deletion=true")
    eventually(
        lambda: not lab.get("cephblockpool", *here, "images"), "the pool is deleted by force"
    )

    patch = {"spec": {"cleanupPolicy": {"confirmation": DESTROY_DATA}}}
    lab.kubectl(
        *("patch", "cephcluster", *here, "rook-ceph"),
        *("--type=merge", "--patch", json.dumps(patch)),
    )
    ceph.delete()
    eventually(
        lambda: not any(lab.get(kind, *here, name) for kind, name in DATA), "the data is deleted"
    )
