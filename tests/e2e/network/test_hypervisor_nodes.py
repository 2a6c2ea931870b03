"""libvirt on hypervisors: guests survive restarts of libvirtd and its pod, and migrate live."""

from collections.abc import Iterator

import pytest

from cobaltcore.api.blocks import Image
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


WITHOUT_CERTIFICATE = """
import socket, ssl, sys
context = ssl._create_unverified_context()
try:
    with context.wrap_socket(socket.create_connection((sys.argv[1], int(sys.argv[2])))) as connection:
        print("admitted" if connection.recv(1) else "refused")
except ssl.SSLError:
    print("refused")
"""


class Hypervisors:
    """The libvirt DaemonSet on both nodes."""

    def __init__(self, lab: Lab, namespace: str) -> None:
        self.lab = lab
        self.namespace = namespace

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


@pytest.fixture
def hypervisors(lab: Lab, namespace: str, images: dict[str, str]) -> Iterator[Hypervisors]:
    repository, _, digest = images["libvirt"].partition("@")
    settings = libvirt.Libvirt(image=Image(repository=repository, digest=digest), hosts=NODES)
    labels = names.labels("c5c3", "lab", "libvirt")
    desired = libvirt.objects(Key(namespace, "libvirt"), settings, labels=labels)
    lab.create(
        namespace,
        *({"apiVersion": d.kind.api_version, "kind": d.kind.kind, **d.body} for d in desired),
    )
    found = Hypervisors(lab, namespace)
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

    target = f"qemu+tls://{second}/system"
    hypervisors.virsh(first, "migrate", "--live", "--p2p", "--tls", "guest", target)
    assert hypervisors.runs(second)
    assert not hypervisors.runs(first)
    virt_type = lab.kubectl(
        "exec", "-n", hypervisors.namespace, hypervisors.pod(first), "-c", "libvirtd", "--",
        "cat", libvirt.VIRT_TYPE,
    )  # fmt: skip
    assert virt_type.strip() in {"kvm", "qemu"}


def test_libvirtd_admits_nobody_without_a_certificate_of_its_ca(hypervisors: Hypervisors) -> None:
    first, second = NODES
    answer = hypervisors.lab.kubectl(
        "exec", "-i", "-n", hypervisors.namespace, hypervisors.pod(first), "-c", "libvirtd", "--",
        "python3", "-", second, str(libvirt.TLS_PORT), input=WITHOUT_CERTIFICATE,
    )  # fmt: skip
    assert answer.strip() == "refused"
