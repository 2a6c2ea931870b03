"""Stops a lab: processes, cgroups, links, routes and, with --purge, its data.

Also removes leftovers: resources of labs whose processes or directory are gone. Every step looks up
the current state, so it can be repeated after any interruption.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.agents import waiting
from cobaltcore.cli import phases
from cobaltlab import (
    cgroups,
    errors,
    hostnames,
    network,
    nodeprocess,
    pidfile,
    record,
    statedir,
    subnets,
    supervisor,
    userkubeconfig,
)

STOP_SECONDS = 20.0
KILL_SECONDS = 30.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Leftover:
    """Resources of a lab without supervisor or record."""

    name: str
    why: str
    directory: Path | None
    index: int | None


def down(
    state_dir: statedir.StateDir,
    *,
    purge: bool,
    progress: phases.Phases,
    environment: Mapping[str, str],
) -> list[str]:
    """Stop a lab and remove leftovers of others; return the names of all stopped or removed labs."""
    _require_root()
    with state_dir.locked():
        exists = state_dir.read_record() is not None
        with progress.phase("stop") as phase:
            stop(state_dir, report=phase.detail)
        if purge and exists:
            with progress.phase("purge"):
                _purge(state_dir)
    with progress.phase("leftovers") as phase:
        removed = remove_leftovers(statedir.find_all(environment), report=phase.detail)
    return [state_dir.name, *removed] if exists else removed


def stop(state_dir: statedir.StateDir, *, report: Callable[[str], None]) -> None:
    """Stop all processes gracefully, then remove everything but the data."""
    report("stopping nodes")
    supervisor_pid = pidfile.running(state_dir.directory / supervisor.PID_FILE)
    if supervisor_pid is not None:
        # First, or it would restart the nodes.
        _signal([supervisor_pid], signal.SIGKILL)
    inits = [pid for node in state_dir.node_processes() if (pid := node.pid()) is not None]
    _signal(inits, signal.SIGTERM)
    waiting.wait_until(lambda: not _alive(inits), interval=POLL_SECONDS, timeout=STOP_SECONDS)
    found = state_dir.read_record()
    index = found.index if found else _index_of(state_dir)
    report("removing cgroups, links and routes")
    clean_up(state_dir.name, index, keep_addresses=found is not None)


def stop_outdated(state_dir: statedir.StateDir) -> None:
    """Kill a supervisor and helpers of another release; the new one adopts running nodes."""
    code = state_dir.directory / supervisor.CODE_FILE
    if code.exists() and code.read_text() != supervisor.code():
        names = (supervisor.PID_FILE, *(f"{name}.pid" for name in supervisor.HELPERS))
        pids = [pid for name in names if (pid := pidfile.running(state_dir.directory / name))]
        _signal(pids, signal.SIGKILL)
        waiting.wait_until(lambda: not _alive(pids), interval=POLL_SECONDS, timeout=KILL_SECONDS)


def stop_node(node: nodeprocess.NodeProcess) -> None:
    """Stop one node: SIGTERM, then SIGKILL after STOP_SECONDS."""
    pid = node.pid()
    if pid is None:
        return
    _signal([pid], signal.SIGTERM)
    if not waiting.wait_until(
        lambda: not _alive([pid]), interval=POLL_SECONDS, timeout=STOP_SECONDS
    ):
        _signal([pid], signal.SIGKILL)
        waiting.wait_until(lambda: not _alive([pid]), interval=POLL_SECONDS, timeout=KILL_SECONDS)


def clean_up(name: str, index: int | None, *, keep_addresses: bool) -> None:
    """Kill every process of a lab and remove its names, cgroups, links and routes."""
    with suppress(OSError):  # a file that cannot be written has not been written
        hostnames.remove(name)
    hierarchies = cgroups.detect()
    group = nodeprocess.cgroup_of(name)

    def is_gone() -> bool:
        cgroups.kill(hierarchies, group)
        return cgroups.remove(hierarchies, group)

    if not waiting.wait_until(is_gone, interval=POLL_SECONDS, timeout=KILL_SECONDS):
        stuck = sorted(cgroups.processes(hierarchies, group))
        raise errors.LabError(
            f'{len(stuck)} processes of lab "{name}" did not end within {KILL_SECONDS:.0f} s: PIDs '
            f"{', '.join(map(str, stuck))}",
            hint="inspect them: ps -o pid,stat,wchan,args -p PID; then run the command again",
        )
    cgroups.remove_top(hierarchies)
    if index is not None and keep_addresses:
        network.deconfigure(index)
    elif index is not None:
        network.remove(index)


def _purge(state_dir: statedir.StateDir) -> None:
    """Remove data, addresses and the context in the user's kubeconfig."""
    known = state_dir.require_record()
    if known.merged_into:
        userkubeconfig.remove(state_dir, Path(known.merged_into))
    network.remove(known.index)
    # The record is deleted last, so that an interrupted purge can be repeated.
    for each in state_dir.directory.iterdir():
        if each.name != record.FILE:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.rmtree(state_dir.directory)


def leftovers(known: Iterable[statedir.StateDir]) -> list[Leftover]:
    """All labs that have resources on this machine, but no supervisor or record."""
    by_name = {each.name: each for each in known}
    owners = {each.name: each for each in network.bridge_owners()}
    found = []
    grouped = cgroups.instances(cgroups.detect())
    for name in sorted(grouped | owners.keys()):
        owner = owners.get(name)
        directory = owner.directory if owner else None
        if directory is None and name in by_name:
            directory = by_name[name].directory
        if directory is None:
            directory = _directory_of_processes(name)
        is_active = name in grouped or (owner is not None and owner.is_up)
        why = _abandoned(name, directory, is_active=is_active)
        if why:
            found.append(Leftover(name, why, directory, owner.index if owner else None))
    return found


def remove_leftovers(
    known: Iterable[statedir.StateDir], *, report: Callable[[str], None]
) -> list[str]:
    """Remove resources of abandoned labs; their data is kept."""
    removed = []
    for each in leftovers(known):
        if each.directory is not None and each.directory.exists():
            state_dir = statedir.StateDir(each.name, each.directory)
            if not state_dir.is_idle():
                continue
        report(f'removing leftovers of lab "{each.name}": {each.why}')
        exists = each.directory is not None and (each.directory / record.FILE).exists()
        clean_up(each.name, each.index, keep_addresses=exists)
        removed.append(each.name)
    _remove_stray_routes()
    return removed


def _directory_of_processes(name: str) -> Path | None:
    """The state directory in the command line of a lab's processes.

    A lab may be in another network namespace, whose bridges are not visible here.
    """
    for pid in cgroups.processes(cgroups.detect(), nodeprocess.cgroup_of(name)):
        if found := supervisor.directory_of(pid):
            return found
    return None


def _abandoned(name: str, directory: Path | None, *, is_active: bool) -> str:
    if directory is None:
        return "its directory is unknown"
    if not (directory / record.FILE).exists():
        return f"its directory {directory} does not exist"
    if is_active and not cgroups.processes(cgroups.detect(), nodeprocess.cgroup_of(name)):
        return "it has no processes"
    return ""


def _remove_stray_routes() -> None:
    """Delete routes of labs whose bridge does not exist."""
    owned = [subnets.Subnets(each.index).block for each in network.bridge_owners()]
    for destination in network.own_routes():
        if not any(destination.subnet_of(block) for block in owned):
            network.ip_batch(
                [f"route del {destination} proto {network.ROUTE_PROTOCOL}"], check=False
            )


def _index_of(state_dir: statedir.StateDir) -> int | None:
    return next(
        (each.index for each in network.bridge_owners() if each.name == state_dir.name), None
    )


def _require_root() -> None:
    if os.geteuid():
        raise errors.LabError("stopping a lab needs root", hint="run the command with sudo -E")


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _alive(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if pidfile.identity(pid) is not None]
