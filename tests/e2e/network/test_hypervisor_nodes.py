"""libvirt on hypervisors: guests survive restarts of libvirtd and its pod, and migrate live."""

from collections.abc import Iterator
from typing import Any

import pytest

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.engine.desired import libvirt, names
from cobaltcore.runtime.meta import Key
from tests.support.lab import Lab, eventually, kill
from tests.support.lab_ovn import NODES

GUEST = """
<domain type='qemu'>
  <name>guest</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices><emulator>/usr/bin/qemu-system-x86_64</emulator><serial type='pty'/></devices>
</domain>
"""


class Hypervisors:
    """The libvirt DaemonSet on both nodes."""

    def __init__(self, lab: Lab, namespace: str, scheme: str) -> None:
        self.lab = lab
        self.namespace = namespace
        self.scheme = scheme

    def wait(self) -> None:
        def is_ready() -> bool:
            status = self.lab.get("ds", "-n", self.namespace, "libvirt").get("status", {})
            return bool(status.get("numberReady") == 2 == status.get("updatedNumberScheduled"))

        eventually(is_ready, "libvirt is ready on both nodes", seconds=600)

    def pod(self, node: str) -> str:
        return self.lab.kubectl(
            "get", "pods", "-n", self.namespace, "-o", "name",
            "--selector=app.kubernetes.io/component=libvirt",
            f"--field-selector=spec.nodeName={node}",
        ).split()[0]  # fmt: skip

    def virsh(self, node: str, *words: str, text: str = "") -> str:
        return self.lab.kubectl(
            "exec", "-i", "-n", self.namespace, self.pod(node), "-c", "libvirtd", "--",
            "virsh", "--connect", "qemu:///system", *words, input=text,
        )  # fmt: skip

    def runs(self, node: str) -> bool:
        found = self.lab.attempt(
            "exec", "-n", self.namespace, self.pod(node), "-c", "libvirtd", "--",
            "virsh", "domstate", "guest",
        )  # fmt: skip
        return found.strip() == "running"

    def emulator(self, node: str) -> int:
        return self.lab.daemon(node, "qemu-system-x86_64")


def authority(name: str) -> list[dict[str, Any]]:
    """A CA issuer with its own key."""
    group = "cert-manager.io/v1"
    certificate = {
        "isCA": True,
        "commonName": name,
        "secretName": name,
        "issuerRef": {"name": "self-signed", "kind": "Issuer"},
    }
    return [
        {
            "apiVersion": group,
            "kind": "Issuer",
            "metadata": {"name": "self-signed"},
            "spec": {"selfSigned": {}},
        },
        {
            "apiVersion": group,
            "kind": "Certificate",
            "metadata": {"name": name},
            "spec": certificate,
        },
        {
            "apiVersion": group,
            "kind": "Issuer",
            "metadata": {"name": name},
            "spec": {"ca": {"secretName": name}},
        },
    ]


@pytest.fixture(params=["tcp", "tls"])
def hypervisors(
    lab: Lab, namespace: str, images: dict[str, str], request: pytest.FixtureRequest
) -> Iterator[Hypervisors]:
    repository, _, digest = images["libvirt"].partition("@")
    is_encrypted = request.param == "tls"
    settings = libvirt.Libvirt(
        image=Image(repository=repository, digest=digest),
        issuer=IssuerRef(name="ca", kind="Issuer") if is_encrypted else None,
        hosts=NODES,
    )
    if is_encrypted:
        lab.create(namespace, *authority("ca"))
    labels = names.labels("c5c3", "lab", "libvirt")
    desired = libvirt.objects(Key(namespace, "libvirt"), settings, labels=labels)
    lab.create(
        namespace,
        *({"apiVersion": d.kind.api_version, "kind": d.kind.kind, **d.body} for d in desired),
    )
    found = Hypervisors(lab, namespace, request.param)
    found.wait()
    yield found
    for node in NODES:
        if found.runs(node):
            found.virsh(node, "destroy", "guest")
    lab.kubectl("delete", "ds", "-n", namespace, "libvirt")
    eventually(lambda: not lab.get("pods", "-n", namespace)["items"], "all pods are deleted")


def test_a_guest_survives_restarts_of_daemon_and_pod_and_migrates_live(
    lab: Lab, hypervisors: Hypervisors
) -> None:
    first, second = NODES
    hypervisors.virsh(first, "create", "/dev/stdin", text=GUEST)
    emulator = hypervisors.emulator(first)

    daemon = lab.daemon(first, "libvirtd")
    kill(daemon)
    eventually(lambda: lab.daemon(first, "libvirtd") != daemon, "libvirtd is restarted")
    hypervisors.wait()
    eventually(lambda: hypervisors.runs(first), "libvirtd has found the guest")
    assert hypervisors.emulator(first) == emulator

    old = hypervisors.pod(first)
    lab.kubectl("delete", "-n", hypervisors.namespace, old)
    eventually(lambda: hypervisors.pod(first) != old, "the pod is recreated")
    hypervisors.wait()
    eventually(lambda: hypervisors.runs(first), "libvirtd has found the guest")
    assert hypervisors.emulator(first) == emulator

    options = ["--tls"] if hypervisors.scheme == "tls" else []
    target = f"qemu+{hypervisors.scheme}://{second}/system"
    hypervisors.virsh(first, "migrate", "--live", "--p2p", *options, "guest", target)
    assert hypervisors.runs(second)
    assert not hypervisors.runs(first)
    virt_type = lab.kubectl(
        "exec", "-n", hypervisors.namespace, hypervisors.pod(first), "-c", "libvirtd", "--",
        "cat", libvirt.VIRT_TYPE,
    )  # fmt: skip
    assert virt_type.strip() in {"kvm", "qemu"}
