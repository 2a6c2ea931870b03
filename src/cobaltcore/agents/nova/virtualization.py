"""Write nova-compute's options for the virtualization type of this node: FILE.

libvirt's own pod has found out, with a guest, whether KVM works.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

VIRT_TYPE = Path("/run/libvirt/virt-type")
CPU_MODES = {"kvm": "host-model", "qemu": "none"}


def main(arguments: Sequence[str]) -> None:
    """Write what libvirt's pod found."""
    found = VIRT_TYPE.read_text().strip()
    target = Path(arguments[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"[libvirt]\nvirt_type = {found}\ncpu_mode = {CPU_MODES[found]}\n")
    sys.stdout.write(f"virtualization type: {found}\n")
