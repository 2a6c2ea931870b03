"""How an instance goes: processes, control groups, links and routes, and if wanted its data.

Also for leftovers: what an instance has on the machine although its processes or its directory
are gone. Every step finds what is there by itself, so it may be repeated after any interruption.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.lab import (
    cgroups,
    errors,
    home,
    kernel,
    links,
    machine,
    phases,
    ranges,
    record,
    supervisor,
    userconfig,
)

STOP_SECONDS = 20.0
KILL_SECONDS = 30.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Leftover:
    """An instance that has something on this machine and nobody who looks after it."""

    name: str
    why: str
    directory: Path | None
    index: int | None


def down(
    place: home.Home, *, purge: bool, shown: phases.Phases, environment: Mapping[str, str]
) -> list[str]:
    """Stop an instance and remove what others left; return the names of all that were removed."""
    _require_root()
    with place.locked():
        exists = place.instance() is not None
        with shown.phase("stop") as phase:
            stop(place, report=phase.detail)
        if purge and exists:
            with shown.phase("purge"):
                _purge(place)
    with shown.phase("leftovers") as phase:
        removed = remove_leftovers(home.all_homes(environment), report=phase.detail)
    return [place.name, *removed] if exists else removed


def stop(place: home.Home, *, report: Callable[[str], None]) -> None:
    """Stop all processes, in good order first, and remove everything but the data."""
    report("stopping nodes")
    keeper = kernel.recall(place.directory / supervisor.PID_FILE)
    if keeper is not None:
        # First, or it would start again what ends.
        _signal([keeper], signal.SIGKILL)
    firsts = [pid for node in place.machines() if (pid := node.pid()) is not None]
    _signal(firsts, signal.SIGTERM)
    _wait(lambda: not _alive(firsts), STOP_SECONDS)
    found = place.instance()
    index = found.index if found else _index_of(place)
    report("removing control groups, links and routes")
    clear(place.name, index, keep_addresses=found is not None)


def stop_outdated(place: home.Home) -> None:
    """End a supervisor and helpers of another release; nodes run on and are adopted."""
    code = place.directory / supervisor.CODE_FILE
    if code.exists() and code.read_text() != supervisor.code():
        names = (supervisor.PID_FILE, *(f"{name}.pid" for name in supervisor.HELPERS))
        pids = [pid for name in names if (pid := kernel.recall(place.directory / name))]
        _signal(pids, signal.SIGKILL)
        _wait(lambda: not _alive(pids), KILL_SECONDS)


def stop_node(node: machine.Machine) -> None:
    """Let one node go down in good order, or by force if it takes long."""
    pid = node.pid()
    if pid is None:
        return
    _signal([pid], signal.SIGTERM)
    if not _wait(lambda: not _alive([pid]), STOP_SECONDS):
        _signal([pid], signal.SIGKILL)
        _wait(lambda: not _alive([pid]), KILL_SECONDS)


def clear(name: str, index: int | None, *, keep_addresses: bool) -> None:
    """End every process of an instance at once, and remove what it has on the machine."""
    hierarchies = cgroups.find()
    group = machine.group_of(name)

    def is_gone() -> bool:
        cgroups.kill(hierarchies, group)
        return cgroups.remove(hierarchies, group)

    if not _wait(is_gone, KILL_SECONDS):
        stuck = sorted(cgroups.processes(hierarchies, group))
        raise errors.LabError(
            f"processes of the lab {name} do not end: {', '.join(map(str, stuck))}",
            hint="look at them with: ps -o pid,stat,wchan,args -p PID, then try again",
        )
    cgroups.remove_top(hierarchies)
    if index is not None and keep_addresses:
        links.disconnect(index)
    elif index is not None:
        links.remove(index)


def _purge(place: home.Home) -> None:
    """Remove the data, and the names of it elsewhere."""
    known = place.existing()
    if known.merged_into:
        userconfig.forget(place, Path(known.merged_into))
    links.remove(known.index)
    # Last the record, so that an interrupted purge can be repeated.
    for each in place.directory.iterdir():
        if each.name != record.FILE:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.rmtree(place.directory)


def leftovers(known: Iterable[home.Home]) -> list[Leftover]:
    """All instances that nobody looks after."""
    by_name = {each.name: each for each in known}
    owners = {each.name: each for each in links.owners()}
    found = []
    grouped = cgroups.instances(cgroups.find())
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


def remove_leftovers(known: Iterable[home.Home], *, report: Callable[[str], None]) -> list[str]:
    """Remove what abandoned instances have on the machine; their data stays."""
    removed = []
    for each in leftovers(known):
        if each.directory is not None and each.directory.exists():
            place = home.Home(each.name, each.directory)
            if not place.is_idle():
                continue
        report(f"removing leftovers of {each.name}: {each.why}")
        exists = each.directory is not None and (each.directory / record.FILE).exists()
        clear(each.name, each.index, keep_addresses=exists)
        removed.append(each.name)
    _remove_stray_routes()
    return removed


def _directory_of_processes(name: str) -> Path | None:
    """The directory that processes of an instance were started with.

    An instance may be in another network, where its bridge cannot be seen from here.
    """
    for pid in cgroups.processes(cgroups.find(), machine.group_of(name)):
        if found := supervisor.directory_of(pid):
            return found
    return None


def _abandoned(name: str, directory: Path | None, *, is_active: bool) -> str:
    if directory is None:
        return "its directory is not known"
    if not (directory / record.FILE).exists():
        return f"its directory {directory} is gone"
    if is_active and not cgroups.processes(cgroups.find(), machine.group_of(name)):
        return "its processes are gone"
    return ""


def _remove_stray_routes() -> None:
    """Remove routes of ours whose bridge is gone."""
    owned = [ranges.Ranges(each.index).block for each in links.owners()]
    for destination in links.marked_routes():
        if not any(destination.subnet_of(block) for block in owned):
            links.run([f"route del {destination} proto {links.ROUTE_PROTOCOL}"], check=False)


def _index_of(place: home.Home) -> int | None:
    return next((each.index for each in links.owners() if each.name == place.name), None)


def _require_root() -> None:
    if os.geteuid():
        raise errors.LabError(
            "a lab is stopped by root, who started it", hint="run it again with sudo -E"
        )


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _alive(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if kernel.identity(pid) is not None]


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        signal.sigtimedwait((), POLL_SECONDS)
    return True
