"""State of all labs on this machine: processes from the host, readiness from the API server."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cobaltcore.api.foreign import kubernetes
from cobaltcore.cli import overview_reading
from cobaltcore.cli.overview import Overview as Cluster
from cobaltcore.engine import readiness
from cobaltcore.runtime import errors, kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltlab import errors as lab_errors
from cobaltlab import nodefiles, pidfile, statedir, subnets, supervisor, teardown
from cobaltlab.platform import status as platform

State = Literal["running", "degraded", "stopped"]
API_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node: whether its init is running, and its condition Ready."""

    name: str
    address: str
    running: bool
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """One lab."""

    name: str
    state: State
    reason: str
    directory: str
    server: str
    kubeconfig: str
    nodes: list[Node] = field(default_factory=list)
    components: list[platform.Component] = field(default_factory=list)
    cluster: Cluster | None = None
    """Control planes and everything below them, while the API server answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server of a lab reports."""

    ready_nodes: set[str]
    components: list[platform.Component]
    cluster: Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Resources of a lab without supervisor or record."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All labs and leftovers on this machine."""

    labs: list[Lab]
    leftovers: list[Leftover]


def collect(environment: Mapping[str, str], *, namespace: str = "") -> Overview:
    root = statedir.root(environment)
    if os.geteuid() and root.exists():
        raise lab_errors.LabError(
            f"the state of labs in {root} is readable by root only",
            hint="run the command with sudo -E",
        )
    homes = statedir.find_all(environment)
    labs = [_lab(each, namespace) for each in homes]
    left = [Leftover(name=each.name, why=each.why) for each in teardown.leftovers(homes)]
    return Overview(labs=labs, leftovers=left)


def _lab(state_dir: statedir.StateDir, namespace: str) -> Lab:
    instance = state_dir.require_record()
    running = {node.name for node in state_dir.node_processes() if node.pid() is not None}
    supervised = pidfile.running(state_dir.directory / supervisor.PID_FILE) is not None
    plan = subnets.Subnets(instance.index)
    seen = asyncio.run(_query(state_dir, plan, namespace)) if running else None
    ready, components = (seen.ready_nodes, seen.components) if seen else (set(), [])
    nodes = [
        Node(
            name=spec.name,
            address=str(plan.node(spec.number)),
            running=spec.name in running,
            ready=spec.name in ready,
        )
        for spec in nodefiles.node_specs(instance)
    ]
    answers = seen is not None or not running
    state, reason = state_of(nodes, supervised=supervised, answers=answers, components=components)
    return Lab(
        name=state_dir.name,
        state=state,
        reason=reason,
        directory=str(state_dir.directory),
        server=plan.api_url,
        kubeconfig=str(state_dir.kubeconfig),
        nodes=nodes,
        components=components,
        cluster=seen.cluster if seen else None,
    )


def state_of(
    nodes: list[Node],
    *,
    supervised: bool,
    answers: bool,
    components: Sequence[platform.Component] = (),
) -> tuple[State, str]:
    """The state of a lab and the first problem. Pure."""
    stopped = not supervised and not any(node.running for node in nodes)
    down = [f'node "{node.name}" is not running' for node in nodes if not node.running]
    unready = [f'node "{node.name}" is not Ready' for node in nodes if not node.ready]
    unready += [f"{each.name}: {each.reason}" for each in components if not each.ready]
    if stopped:
        return "stopped", "start it: cobalt up"
    if not supervised:
        return (
            "degraded",
            "the supervisor is not running, so ended nodes are not restarted; start it: cobalt up",
        )
    if not answers:
        return "degraded", "the API server does not answer"
    if down or unready:
        return "degraded", (down + unready)[0]
    return "running", f"{len(nodes)}/{len(nodes)} nodes Ready"


async def _query(
    state_dir: statedir.StateDir, plan: subnets.Subnets, namespace: str
) -> Answer | None:
    """Nodes, operators, providers and the cloud; None if the API server is unreachable."""
    connection = kubeconfig.load(state_dir.kubeconfig, environ={})
    client = Client(
        HttpTransport(connection, agent="cobalt-status", request_timeout=API_TIMEOUT_SECONDS)
    )
    found: set[str] = set()
    try:
        async for page, _ in client.list_pages(kubernetes.NODE):
            found.update(
                node["metadata"]["name"] for node in page if readiness.is_true(node, "Ready")
            )
        return Answer(
            ready_nodes=found,
            components=await platform.collect(client, state_dir, plan),
            cluster=await overview_reading.read(client, namespace),
        )
    except (errors.Unreachable, errors.ApiError):
        return None
    finally:
        await client.close()
