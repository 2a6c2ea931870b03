"""Tell nova-compute how servers run on this node. Runs in the image of Nova, when libvirt is there.

virtualization.py FILE      writes options for nova-compute to FILE

libvirt's own pod has found out, with a guest, whether KVM really runs one.
"""

import sys
from pathlib import Path

FOUND = Path("/run/libvirt/virt-type")
CPU_MODES = {"kvm": "host-model", "qemu": "none"}


def main(path: str) -> None:
    """Write what was found."""
    found = FOUND.read_text().strip()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"[libvirt]\nvirt_type = {found}\ncpu_mode = {CPU_MODES[found]}\n")
    sys.stdout.write(f"servers run with {found}\n")


if __name__ == "__main__":
    main(sys.argv[1])
