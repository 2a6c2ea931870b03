"""Brings an instance up: from nothing, from a crash, after a reboot, or not at all if it stands."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cobaltcore.lab import (
    addons,
    allotment,
    artefacts,
    errors,
    home,
    kernel,
    kubebuild,
    layout,
    limits,
    links,
    packages,
    phases,
    preflight,
    ranges,
    record,
    supervisor,
    teardown,
    userconfig,
)

DEFAULT_NODES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user asked for; None keeps what the instance has, or takes the default."""

    nodes: int | None = None
    audit: bool | None = None
    images: Path | None = None
    dev: bool | None = None
    install_packages: bool = False
    merge_kubeconfig: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What stands now."""

    name: str
    directory: str
    kubeconfig: str
    server: str
    context: str
    """The context in the user's own kubeconfig, if there is one."""
    nodes: list[str]
    seconds: Mapping[str, float]
    outcome: str = ""
    """What the last stage has to show, if it has something."""


def up(
    place: home.Home,
    wishes: Wishes,
    *,
    shown: phases.Phases,
    environment: Mapping[str, str],
    prepare: Callable[[record.Instance], None] = lambda _: None,
) -> Result:
    """Bring an instance up and return when it is of use; `prepare` what nodes find at their start."""
    with shown.phase("preflight") as phase:
        _prepare_host(place, wishes, phase)
    with place.locked():
        with shown.phase("programs") as phase:
            images = artefacts.install(place, report=phase.detail)
        with shown.phase("network") as phase:
            teardown.remove_leftovers(home.all_homes(environment), report=phase.detail)
            instance = _settle(place, wishes, environment)
            phase.result(str(ranges.Ranges(instance.index).block))
        prepare(instance)
        with shown.phase("configuration") as phase:
            changed = layout.write(place, instance, images)
            _restart(place, changed, phase)
        with shown.phase("nodes"):
            fresh = _start(place)
        server = addons.Server(place, instance, images)
        asyncio.run(server.bring_up(shown, fresh=fresh))
        if wishes.merge_kubeconfig:
            instance = _merge_kubeconfig(place, instance, environment)
    return _result(place, instance, shown)


def _prepare_host(place: home.Home, wishes: Wishes, phase: phases.Phase) -> None:
    """Check everything, and install what may be installed, before anything is touched."""
    packages.load_modules()
    limits.raise_to_need()
    places = [place.directory, kubebuild.cache_directory()]
    found = preflight.gather(places)
    if wishes.install_packages and found.missing_packages:
        others = preflight.problems(replace(found, missing_packages=()))
        if not others:
            packages.install(found.missing_packages, report=phase.detail)
            found = preflight.gather(places)
    problems = preflight.problems(found)
    if problems:
        raise preflight.NotReady(problems)


def _settle(place: home.Home, wishes: Wishes, environment: Mapping[str, str]) -> record.Instance:
    """Decide what the instance is, or take over what was decided; the network follows."""
    known = place.instance()
    nodes = wishes.nodes or (known.nodes if known else DEFAULT_NODES)
    _check_nodes(place, nodes, known)
    try:
        index = allotment.allot(place, environment)
        links.connect(index)
    except links.IpError as error:
        raise errors.LabError(
            f"the network of the lab could not be set up: {error}",
            hint="the kernel needs bridge and veth devices, and root all rights over the network",
        ) from error
    instance = known or record.Instance(name=place.name, index=index, nodes=nodes)
    audit = instance.audit if wishes.audit is None else wishes.audit
    images = str(wishes.images or instance.images or kubebuild.cache_directory() / "images")
    dev = instance.dev if wishes.dev is None else wishes.dev
    instance = replace(instance, nodes=nodes, audit=audit, images=images, dev=dev)
    record.write(place.directory, instance)
    return instance


def _check_nodes(place: home.Home, nodes: int, known: record.Instance | None) -> None:
    if not 1 <= nodes <= ranges.MOST_NODES:
        raise errors.LabError(f"a lab has 1 to {ranges.MOST_NODES} nodes, not {nodes}")
    if known and nodes < known.nodes:
        raise errors.LabError(
            f"the lab {place.name} has {known.nodes} nodes, and nodes are not taken away",
            hint=f"make it anew: cobalt down --purge --name {place.name}",
        )


def _restart(place: home.Home, changed: list[str], phase: phases.Phase) -> None:
    """Let nodes with new settings go down; the supervisor brings them up again."""
    running = [node for node in place.machines() if node.name in changed and node.pid()]
    for node in running:
        phase.detail(f"settings changed: restarting {node.name}")
        teardown.stop_node(node)


def _start(place: home.Home) -> set[str]:
    """Have a supervisor, and through it all nodes; return the nodes that did not run before."""
    asleep = {node.name for node in place.machines() if node.pid() is None}
    teardown.stop_outdated(place)
    if kernel.recall(place.directory / supervisor.PID_FILE) is None:
        log = place.logs / "supervisor.log"
        supervisor.spawn("cobaltcore.lab.supervisor", place.directory, log=log)
    return asleep


def _merge_kubeconfig(
    place: home.Home, instance: record.Instance, environment: Mapping[str, str]
) -> record.Instance:
    path = userconfig.target(environment)
    userconfig.merge(place, path)
    instance = replace(instance, merged_into=str(path))
    record.write(place.directory, instance)
    return instance


def _result(place: home.Home, instance: record.Instance, shown: phases.Phases) -> Result:
    return Result(
        name=place.name,
        directory=str(place.directory),
        kubeconfig=str(place.kubeconfig),
        server=ranges.Ranges(instance.index).api_url,
        context=userconfig.context_name(place) if instance.merged_into else "",
        nodes=[seat.name for seat in layout.seats(instance)],
        seconds={**shown.seconds, "total": round(shown.total, 3)},
    )
