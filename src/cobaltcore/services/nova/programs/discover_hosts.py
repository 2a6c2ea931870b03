"""Make hypervisors known to the scheduler: `discover_hosts.py HOST...`. Runs in Nova's image.

Nova maps a host to its cell when somebody asks for it, and chooses none that is not mapped. Returns
once all hosts are; a host is known when its nova-compute has reported what it has to offer.
"""

import sys
import time
from pathlib import Path

from nova import config, context, objects  # of Nova's image
from nova.objects import host_mapping  # of Nova's image

CONFIG = "/etc/nova/nova.conf"
WAIT_SECONDS = 120
POLL_SECONDS = 0.5
LAST_WORD = Path("/dev/termination-log")


def missing(wanted: set[str], admin: object) -> list[str]:
    """Hosts that are not mapped, after all that have reported were."""
    host_mapping.discover_hosts(admin)
    known = {each.host for each in host_mapping.HostMappingList.get_all(admin)}
    return sorted(wanted - known)


def main(wanted: set[str]) -> int:
    """Wait until all hosts are known."""
    config.parse_args(["discover-hosts"], default_config_files=[CONFIG])
    objects.register_all()
    admin = context.get_admin_context()
    deadline = time.monotonic() + WAIT_SECONDS
    while left := missing(wanted, admin):
        if time.monotonic() > deadline:
            LAST_WORD.write_text(f"nova-compute has not reported from {', '.join(left)}")
            return 1
        time.sleep(POLL_SECONDS)  # noqa: TID251 no clock of ours in Nova's image
    return 0


if __name__ == "__main__":
    sys.exit(main(set(sys.argv[1:])))
