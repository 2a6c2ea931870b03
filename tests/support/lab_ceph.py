"""Ceph in a test's lab: the cluster of the example and its users."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cobaltlab.ceph import health
from tests.support import lab_providers, workloads
from tests.support.lab import Lab, eventually, kill

DAEMONS = ("ceph-mon", "ceph-mgr", "ceph-osd")
OBJECTS = 5
# Keys are read from and written to files, never on a command line.
SCRIPT = """
umask 077; mkdir -p /tmp/ceph
printf '[global]\\nmon_host = %s\\nkeyring = /tmp/ceph/keyring\\n' "$(cat /config/mon_host)" \
    > /tmp/ceph/ceph.conf
printf '[client.%s]\\n\\tkey = %s\\n' "$CEPH_USER" "$(cat /keys/userKey)" > /tmp/ceph/keyring
exec sleep 1000000
"""


@dataclass(frozen=True)
class LabCeph:
    """The CephCluster of the example in a namespace."""

    lab: Lab
    namespace: str
    images: dict[str, str]

    def create(self) -> None:
        self.lab.create(self.namespace, *lab_providers.example("ceph"))

    def wait(self) -> None:
        """Wait until all objects are Ready."""
        kinds = "cephclusters,cephblockpools,cephclients"

        def all_ready() -> bool:
            found = self.lab.get(kinds, "-n", self.namespace).get("items", [])
            return len(found) == OBJECTS and all(map(_is_ready, found))

        eventually(all_ready, "the cluster, its pools and its users are Ready")

    def status(self) -> dict[str, Any]:
        """`ceph status`; empty without an answer."""
        output = self.lab.attempt(
            *("exec", "-n", self.namespace, "deploy/rook-ceph-mon-a", "--"),
            *("ceph", "--connect-timeout=5", "status", "--format=json"),
        )
        found: dict[str, Any] = json.loads(output or "{}")
        return found

    def wait_until_clean(self) -> None:
        """Wait for HEALTH_OK; new pools reset it."""
        eventually(self.is_clean, "Ceph is clean")

    def is_clean(self) -> bool:
        """Whether all placement groups are clean and health is HEALTH_OK."""
        found = self.status()
        return bool(found) and health.is_clean(found) and found["health"]["status"] == "HEALTH_OK"

    def pids(self) -> dict[str, int]:
        """PIDs of the daemons on all nodes."""
        return {
            line.split()[0]: pid
            for pid, line in self.lab.processes().items()
            if line.split()[0] in DAEMONS
        }

    def kill_daemons(self) -> None:
        """Kill all daemons at once, and wait until they are restarted."""
        before = self.pids()
        assert set(before) == set(DAEMONS)
        for pid in before.values():
            kill(pid)
        eventually(
            lambda: (
                set(self.pids()) == set(DAEMONS)
                and not set(self.pids().values()) & set(before.values())
            ),
            "daemons are restarted",
        )

    def delete(self) -> None:
        """Delete all objects; their specs decide about the data."""
        lab, here = self.lab, ("-n", self.namespace)
        lab.kubectl("delete", "cephcluster", *here, "rook-ceph", "--wait=false")
        lab.kubectl("delete", "cephblockpool,cephclient", *here, "--all")
        eventually(
            lambda: not lab.get("cephcluster", *here, "rook-ceph"), "the cluster is deleted"
        )

    def user(self, name: str, *, key_of: str = "") -> "User":
        """A pod with QEMU as the user `name`, with its key or that of another user."""
        pod = f"{name}-{key_of or name}"
        secret = f"rook-ceph-client-{key_of or name}"
        body = workloads.pod(
            pod,
            self.images["libvirt"],
            command=["sh", "-c", SCRIPT],
            mounts=[
                {"name": "keys", "path": "/keys", "source": {"secret": {"secretName": secret}}},
                {
                    "name": "config",
                    "path": "/config",
                    "source": {"secret": {"secretName": "rook-ceph-config"}},
                },
            ],
            container={"env": [{"name": "CEPH_USER", "value": name}]},
        )
        self.lab.create(self.namespace, body)
        self.lab.wait_for_pod(self.namespace, pod)
        return User(self.lab, self.namespace, name, pod)


@dataclass(frozen=True)
class User:
    """A client with a key."""

    lab: Lab
    namespace: str
    name: str
    pod: str

    def run(self, *command: str) -> str:
        return self.lab.kubectl("exec", "-n", self.namespace, self.pod, "--", *command)

    def url(self, image: str) -> str:
        return f"rbd:{image}:id={self.name}:conf=/tmp/ceph/ceph.conf"

    def write(self, image: str, *, mebibytes: int) -> str:
        """Fill an image with random bytes; return their checksum."""
        self.run("dd", "if=/dev/urandom", "of=/tmp/disk", "bs=1M", f"count={mebibytes}")
        self.run("qemu-img", "convert", "-f", "raw", "-O", "raw", "/tmp/disk", self.url(image))
        return self.run("sha256sum", "/tmp/disk").split()[0]

    def read(self, image: str) -> str:
        """The checksum of an image's content."""
        self.run("qemu-img", "convert", "-f", "raw", "-O", "raw", self.url(image), "/tmp/copy")
        return self.run("sha256sum", "/tmp/copy").split()[0]

    def remove(self) -> None:
        self.lab.kubectl("delete", "pod", "-n", self.namespace, self.pod)


def _is_ready(obj: Mapping[str, Any]) -> bool:
    status = obj.get("status", {})
    current = status.get("observedGeneration") == obj["metadata"]["generation"]
    return bool(current and status.get("phase") == "Ready")
