"""Wait until the node's libvirt answers, and has the keys of Ceph that its servers' disks name.

nova-compute starts servers that ran before the node was restarted, and does so once. Keys come from
another pod (`libvirt-secrets`); after a minute without them servers that need none go first.
"""

import sys
from collections.abc import Sequence
from xml.etree import ElementTree

import libvirt

from cobaltcore.agents import waiting

URI = "qemu+unix:///system?socket=/run/libvirt/libvirt-sock"
INTERVAL_SECONDS = 1.0
KEYS_TIMEOUT_SECONDS = 60.0


def main(_: Sequence[str]) -> None:
    """Wait, then let the pod's programs start."""
    waiting.wait_until(answers, interval=INTERVAL_SECONDS)
    timeout = KEYS_TIMEOUT_SECONDS
    if not waiting.wait_until(lambda: not missing(), interval=INTERVAL_SECONDS, timeout=timeout):
        sys.stderr.write(f"libvirt still has no secrets {', '.join(sorted(missing()))}\n")


def answers() -> bool:
    """Whether libvirt accepts a connection."""
    try:
        libvirt.open(URI).close()
    except libvirt.libvirtError as error:
        sys.stderr.write(f"libvirt does not answer: {error}\n")
        return False
    return True


def missing() -> set[str]:
    """Secrets that disks of servers name and libvirt does not have."""
    connection = libvirt.open(URI)
    try:
        present = set(connection.listSecrets())
        texts = [each.XMLDesc(0) for each in connection.listAllDomains(0)]
    finally:
        connection.close()
    return {uuid for text in texts for uuid in secrets_of(text)} - present


def secrets_of(domain: str) -> set[str]:
    """Keys of Ceph that a server's disks name; other secrets are Nova's own."""
    # The text is libvirt's own: it parsed and wrote it.
    root = ElementTree.fromstring(domain)  # noqa: S314
    return {
        each.attrib["uuid"]
        for each in root.iter("secret")
        if each.attrib.get("type") == "ceph" and "uuid" in each.attrib
    }
