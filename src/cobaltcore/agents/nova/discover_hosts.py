"""Map hypervisors to their cells, so that the scheduler knows them: HOST...

Nova maps a host to its cell when it is asked to, and schedules to none that is not mapped. Returns
once all hosts are; a host can be mapped when its nova-compute has reported.
"""

from collections.abc import Sequence

from nova import config, context, objects
from nova.objects import host_mapping

from cobaltcore.agents import termination, waiting

CONFIG = "/etc/nova/nova.conf"
TIMEOUT_SECONDS = 120
INTERVAL_SECONDS = 0.5


def main(wanted: Sequence[str]) -> int:
    """Wait until all hosts are mapped."""
    config.parse_args(["discover-hosts"], default_config_files=[CONFIG])
    objects.register_all()
    admin = context.get_admin_context()
    if waiting.wait_until(
        lambda: not unmapped(wanted, admin), interval=INTERVAL_SECONDS, timeout=TIMEOUT_SECONDS
    ):
        return 0
    missing = unmapped(wanted, admin)
    termination.write(
        f"nova-compute has not reported from {len(missing)}/{len(wanted)} hosts: "
        f"{', '.join(missing)}; see the logs of its pods there"
    )
    return 1


def unmapped(wanted: Sequence[str], admin: object) -> list[str]:
    """Hosts that are not mapped, after all that have reported were."""
    host_mapping.discover_hosts(admin)
    known = {each.host for each in host_mapping.HostMappingList.get_all(admin)}
    return sorted(set(wanted) - known)
