"""Map hypervisors to their cells, so that the scheduler knows them: HOST=CELL...

Nova maps a host to its cell when it is asked to, and schedules to none that is not mapped. A host
that moves to another cell is forgotten in the one before, unless it has servers there. Returns once
all hosts are mapped; a host can be when its nova-compute has reported in its cell.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nova import config, context, objects
from nova.objects import host_mapping

from cobaltcore.agents import termination, waiting

CONFIG = "/etc/nova/nova.conf"
COMPUTE = "nova-compute"
TIMEOUT_SECONDS = 180
INTERVAL_SECONDS = 0.5
SILENT = timedelta(seconds=30)
"""Three reports that did not come: a nova-compute that still ran would register again."""


def main(arguments: Sequence[str]) -> int:
    """Wait until all hosts are mapped."""
    config.parse_args(["discover-hosts"], default_config_files=[CONFIG])
    objects.register_all()
    admin = context.get_admin_context()
    wanted = dict(each.split("=") for each in arguments)
    if waiting.wait_until(
        lambda: not unmapped(wanted, admin), interval=INTERVAL_SECONDS, timeout=TIMEOUT_SECONDS
    ):
        return 0
    missing = unmapped(wanted, admin)
    reasons = "; ".join(f"{host}: {why}" for host, why in sorted(missing.items()))
    termination.write(f"{len(missing)}/{len(wanted)} hosts are not in their cells: {reasons}")
    return 1


def unmapped(wanted: Mapping[str, str], admin: Any) -> dict[str, str]:
    """Why hosts are not mapped, after all were that can be."""
    host_mapping.discover_hosts(admin)
    known = {each.host: each for each in host_mapping.HostMappingList.get_all(admin)}
    cells = {each.name: each for each in objects.CellMappingList.get_all(admin)}
    missing = {}
    for host, cell in wanted.items():
        problem = f"nova-compute has not reported in cell {cell}; see the logs of its pod there"
        if host in known:
            problem = moved(known[host], cells[cell], admin)
        if problem:
            missing[host] = problem
    return missing


def moved(mapping: Any, cell: Any, admin: Any) -> str:
    """Move a host to a cell if it is in another one; return what prevents it."""
    before = mapping.cell_mapping
    if before.uuid == cell.uuid:
        return ""
    host = mapping.host
    with context.target_cell(admin, before) as inside:
        servers = len(objects.InstanceList.get_by_host(inside, host))
        if servers:
            return (
                f"it has {servers} servers in cell {before.name}: migrate or delete them, or label "
                f"the node nova.c5c3.io/cell={before.name} again"
            )
    with context.target_cell(admin, cell) as inside:
        if not nodes(inside, host):
            return f"nova-compute has not reported in cell {cell.name}; see the logs of its pod"
    with context.target_cell(admin, before) as inside:
        services = objects.ServiceList.get_by_binary(inside, COMPUTE, include_disabled=True)
        mine = [each for each in services if each.host == host]
        if any(reports(each) for each in mine):
            return f"its nova-compute of cell {before.name} still runs"
        for each in (*nodes(inside, host), *mine):
            each.destroy()
    mapping.cell_mapping = cell
    mapping.save()
    return ""


def nodes(inside: Any, host: str) -> list[Any]:
    """What nova-compute of a host reported in a cell."""
    return [each for each in objects.ComputeNodeList.get_all(inside) if each.host == host]


def reports(service: Any) -> bool:
    """Whether a service has reported lately."""
    seen = service.last_seen_up or service.created_at
    return bool(datetime.now(UTC) - seen < SILENT)
