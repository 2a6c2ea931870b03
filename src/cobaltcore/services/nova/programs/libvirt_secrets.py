"""Tell the node's libvirt the keys of Ceph users. Runs in the image of Nova.

libvirt_secrets.py once UUID:USER:FILE[,FILE...]...     wait for libvirt, tell it, end
libvirt_secrets.py keep UUID:USER:FILE[,FILE...]...     tell it again whenever it forgot

libvirt keeps the keys in memory only: they are on no disk of the node. The first of the files that
is there holds the key, alone or in a keyring.
"""

import base64
import sys
import threading
from pathlib import Path

import libvirt

URI = "qemu+unix:///system?socket=/run/libvirt/libvirt-sock"
EVERY_SECONDS = 3
XML = """<secret ephemeral='yes' private='yes'>
  <uuid>{uuid}</uuid>
  <usage type='ceph'><name>client.{user} {uuid}</name></usage>
</secret>"""


def key(files: str) -> bytes:
    """The key in the first file that exists, as libvirt wants it: not in base64."""
    text = next(path for path in map(Path, files.split(",")) if path.exists()).read_text()
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line]
    in_keyring = [value.strip() for name, _, value in pairs if name.strip() == "key"]
    return base64.b64decode(in_keyring[0] if in_keyring else text.strip())


def tell(connection: libvirt.virConnect, wanted: list[str], known: dict[str, bytes]) -> None:
    """Define what libvirt does not know, and what has changed."""
    there = set(connection.listSecrets())
    for each in wanted:
        uuid, user, files = each.split(":", 2)
        value = key(files)
        if uuid in there and known.get(uuid) == value:
            continue
        defined = connection.secretDefineXML(XML.format(uuid=uuid, user=user), 0)
        defined.setValue(value, 0)
        known[uuid] = value


def main(mode: str, wanted: list[str]) -> None:
    """Do it once, or as long as the pod lives."""
    pause = threading.Event()
    known: dict[str, bytes] = {}
    while True:
        try:
            with libvirt.open(URI) as connection:
                tell(connection, wanted, known)
                if mode == "once":
                    return
                while connection.isAlive():
                    pause.wait(EVERY_SECONDS)
                    tell(connection, wanted, known)
        except libvirt.libvirtError as error:
            sys.stderr.write(f"libvirt does not answer: {error}\n")
        pause.wait(EVERY_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
