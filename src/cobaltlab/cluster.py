"""Starts the cluster of a lab: new, stopped, crashed or after a reboot; a running one is unchanged."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cobaltcore.cli import phases
from cobaltimages import cache, hostpackages
from cobaltlab import (
    artifacts,
    bootstrap,
    errors,
    ipam,
    network,
    nodefiles,
    packages,
    pidfile,
    policies,
    preflight,
    record,
    statedir,
    subnets,
    supervisor,
    sysctl,
    teardown,
    userkubeconfig,
)

DEFAULT_NODES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """Options of `cobalt up`; None keeps the setting of the lab, or takes the default."""

    nodes: int | None = None
    audit: bool | None = None
    images: Path | None = None
    dev: bool | None = None
    network_policies: bool | None = None
    install_packages: bool = False
    merge_kubeconfig: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The lab that is up."""

    name: str
    directory: str
    kubeconfig: str
    server: str
    context: str
    """The context in the user's own kubeconfig, if there is one."""
    nodes: list[str]
    seconds: Mapping[str, float]
    outcome: str = ""
    """Summary of the last step, if it has one."""


def up(
    state_dir: statedir.StateDir,
    options: UpOptions,
    *,
    progress: phases.Phases,
    environment: Mapping[str, str],
    before_start: Callable[[record.Instance], None] = lambda _: None,
) -> Result:
    """Start the cluster and return when it is usable; `before_start` runs before nodes start."""
    with progress.phase("preflight") as phase:
        _prepare_host(state_dir, options, phase)
    with state_dir.locked():
        with progress.phase("binaries") as phase:
            images = artifacts.install(
                state_dir,
                enforces_policies=_enforces_policies(state_dir, options),
                report=phase.detail,
            )
        with progress.phase("network") as phase:
            teardown.remove_leftovers(statedir.find_all(environment), report=phase.detail)
            instance = _resolve_instance(state_dir, options, environment)
            phase.result(str(subnets.Subnets(instance.index).block))
        before_start(instance)
        with progress.phase("configuration") as phase:
            changed = nodefiles.write(state_dir, instance, images)
            _restart_nodes(state_dir, changed, phase)
        with progress.phase("nodes"):
            started = _start_nodes(state_dir)
        cluster = bootstrap.Bootstrap(state_dir, instance, images)
        asyncio.run(cluster.run(progress, started=started))
        if options.merge_kubeconfig:
            instance = _merge_kubeconfig(state_dir, instance, environment)
    return _result(state_dir, instance, progress)


def _prepare_host(state_dir: statedir.StateDir, options: UpOptions, phase: phases.Phase) -> None:
    """Check the machine, and install missing packages if allowed, before anything is changed."""
    packages.load_modules()
    sysctl.raise_limits()
    directories = [state_dir.directory, cache.cache_directory()]
    # Other users than root may not read the record of a lab; preflight reports that root is needed.
    is_enforcing = os.geteuid() == 0 and _enforces_policies(state_dir, options)
    programs = policies.PACKAGES if is_enforcing else {}
    found = preflight.gather(directories, programs)
    if options.install_packages and found.missing_packages:
        others = preflight.problems(replace(found, missing_packages=()))
        if not others:
            hostpackages.install(found.missing_packages, report=phase.detail)
            found = preflight.gather(directories, programs)
    problems = preflight.problems(found)
    if problems:
        raise preflight.NotReady(problems)


def _resolve_instance(
    state_dir: statedir.StateDir, options: UpOptions, environment: Mapping[str, str]
) -> record.Instance:
    """Merge record and options, allocate addresses, and configure the network of the host."""
    known = state_dir.read_record()
    nodes = options.nodes or (known.nodes if known else DEFAULT_NODES)
    _check_nodes(state_dir, nodes, known)
    try:
        index = ipam.allocate(state_dir, environment)
        network.configure(index)
    except network.IpError as error:
        raise errors.LabError(
            f"the network of the lab could not be configured: {error}",
            hint="the kernel needs bridge and veth devices, and root CAP_NET_ADMIN",
        ) from error
    instance = known or record.Instance(name=state_dir.name, index=index, nodes=nodes)
    audit = instance.audit if options.audit is None else options.audit
    images = str(options.images or instance.images or cache.cache_directory() / "images")
    dev = instance.dev if options.dev is None else options.dev
    if dev and _enforces_policies(state_dir, options):
        raise errors.LabError(
            "--dev and --network-policies do not go together: operators on the host are outside of "
            "the cluster, and NetworkPolicies admit those in it",
            hint="add --no-dev or --no-network-policies",
        )
    instance = replace(
        instance,
        nodes=nodes,
        audit=audit,
        images=images,
        dev=dev,
        network_policies=_enforces_policies(state_dir, options),
    )
    record.write(state_dir.directory, instance)
    return instance


def _enforces_policies(state_dir: statedir.StateDir, options: UpOptions) -> bool:
    """As asked for, or as the lab has it."""
    if options.network_policies is not None:
        return options.network_policies
    known = state_dir.read_record()
    return known is not None and known.network_policies


def _check_nodes(state_dir: statedir.StateDir, nodes: int, known: record.Instance | None) -> None:
    if not 1 <= nodes <= subnets.MAX_NODES:
        raise errors.LabError(
            f"--nodes {nodes} is out of range: a lab has 1 to {subnets.MAX_NODES} nodes"
        )
    if known and nodes < known.nodes:
        raise errors.LabError(
            f'lab "{state_dir.name}" has {known.nodes} nodes and cannot shrink to {nodes}',
            hint=f"delete the lab first: cobalt down --purge --name {state_dir.name}",
        )


def _restart_nodes(state_dir: statedir.StateDir, changed: list[str], phase: phases.Phase) -> None:
    """Stop nodes whose configuration changed; the supervisor starts them again."""
    running = [node for node in state_dir.node_processes() if node.name in changed and node.pid()]
    for node in running:
        phase.detail(f"configuration changed: restarting {node.name}")
        teardown.stop_node(node)


def _start_nodes(state_dir: statedir.StateDir) -> set[str]:
    """Ensure that the supervisor is running; return the nodes that it has to start."""
    stopped = {node.name for node in state_dir.node_processes() if node.pid() is None}
    teardown.stop_outdated(state_dir)
    if pidfile.running(state_dir.directory / supervisor.PID_FILE) is None:
        log = state_dir.logs / "supervisor.log"
        supervisor.spawn("cobaltlab.supervisor", state_dir.directory, log=log)
    return stopped


def _merge_kubeconfig(
    state_dir: statedir.StateDir, instance: record.Instance, environment: Mapping[str, str]
) -> record.Instance:
    path = userkubeconfig.path(environment)
    userkubeconfig.merge(state_dir, path)
    instance = replace(instance, merged_into=str(path))
    record.write(state_dir.directory, instance)
    return instance


def _result(
    state_dir: statedir.StateDir, instance: record.Instance, progress: phases.Phases
) -> Result:
    return Result(
        name=state_dir.name,
        directory=str(state_dir.directory),
        kubeconfig=str(state_dir.kubeconfig),
        server=subnets.Subnets(instance.index).api_url,
        context=userkubeconfig.context_name(state_dir) if instance.merged_into else "",
        nodes=[spec.name for spec in nodefiles.node_specs(instance)],
        seconds={**progress.seconds, "total": round(progress.total, 3)},
    )
