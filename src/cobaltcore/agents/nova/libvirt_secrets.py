"""Sync keys of Ceph users to the node's libvirt: UUID:USER:FILE[,FILE...]...

They are set again whenever libvirt has lost them: it keeps them in memory only, so they are on no
disk of the node. The first of the files that exists holds the key, alone or in a keyring.
"""

import base64
import sys
from collections.abc import Sequence
from pathlib import Path

import libvirt

from cobaltcore.agents import readiness, waiting

AGENT = "nova-libvirt-secrets"
URI = "qemu+unix:///system?socket=/run/libvirt/libvirt-sock"
INTERVAL_SECONDS = 3.0
VALID_SECONDS = 30.0
XML = """<secret ephemeral='yes' private='yes'>
  <uuid>{uuid}</uuid>
  <usage type='ceph'><name>client.{user} {uuid}</name></usage>
</secret>"""


def main(arguments: Sequence[str]) -> None:
    """Sync for as long as the pod runs."""
    secrets = Secrets(arguments)
    readiness.withdraw(AGENT)
    waiting.repeat(lambda: report(is_synced=secrets.sync()), interval=INTERVAL_SECONDS)


def readiness_problem(_: Sequence[str]) -> str | None:
    """Ready while libvirt has all keys."""
    return readiness.problem(AGENT)


def report(*, is_synced: bool) -> None:
    """What a readiness probe sees."""
    if is_synced:
        readiness.renew(AGENT, valid_seconds=VALID_SECONDS)
    else:
        readiness.withdraw(AGENT)


class Secrets:
    """The secrets that libvirt should have, over a connection that is kept."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted
        self._connection: libvirt.virConnect | None = None
        self._known: dict[str, bytes] = {}

    def sync(self) -> bool:
        """Set what libvirt lacks; False if it does not answer."""
        try:
            if self._connection is None or not self._connection.isAlive():
                self._connection = libvirt.open(URI)
            self._set_missing(self._connection)
        except libvirt.libvirtError as error:
            sys.stderr.write(f"libvirt does not answer: {error}\n")
            self._connection = None
            return False
        return True

    def _set_missing(self, connection: libvirt.virConnect) -> None:
        """Define secrets that are not there, and those whose key has changed."""
        present = set(connection.listSecrets())
        for each in self._wanted:
            uuid, user, files = each.split(":", 2)
            value = key(files)
            if uuid in present and self._known.get(uuid) == value:
                continue
            defined = connection.secretDefineXML(XML.format(uuid=uuid, user=user), 0)
            defined.setValue(value, 0)
            self._known[uuid] = value


def key(files: str) -> bytes:
    """The key in the first file that exists, as libvirt wants it: not in base64."""
    text = next(path for path in map(Path, files.split(",")) if path.exists()).read_text()
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line]
    in_keyring = [value.strip() for name, _, value in pairs if name.strip() == "key"]
    return base64.b64decode(in_keyring[0] if in_keyring else text.strip())
