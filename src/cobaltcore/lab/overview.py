"""What instances there are and how they are: processes by the host, Ready by the API server."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cobaltcore.api.foreign import kubernetes
from cobaltcore.engine import conditioned
from cobaltcore.lab import errors as lab_errors
from cobaltcore.lab import home, kernel, layout, ranges, supervisor, teardown
from cobaltcore.lab.platform import status as platform
from cobaltcore.runtime import errors, kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.transport import HttpTransport

State = Literal["running", "degraded", "stopped"]
ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node: whether it has processes, and what the API server says."""

    name: str
    address: str
    running: bool
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """One instance."""

    name: str
    state: State
    reason: str
    directory: str
    server: str
    kubeconfig: str
    nodes: list[Node] = field(default_factory=list)
    parts: list[platform.Part] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What an instance left that nobody looks after."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Everything of ours on this machine."""

    labs: list[Lab]
    leftovers: list[Remains]


def look(environment: Mapping[str, str]) -> Overview:
    """See what there is."""
    root = home.root(environment)
    if os.geteuid() and root.exists():
        raise lab_errors.LabError(
            f"labs in {root} belong to root", hint="run it again with sudo -E"
        )
    homes = home.all_homes(environment)
    labs = [_lab(each) for each in homes]
    left = [Remains(name=each.name, why=each.why) for each in teardown.leftovers(homes)]
    return Overview(labs=labs, leftovers=left)


def _lab(place: home.Home) -> Lab:
    instance = place.existing()
    running = {node.name for node in place.machines() if node.pid() is not None}
    supervised = kernel.recall(place.directory / supervisor.PID_FILE) is not None
    plan = ranges.Ranges(instance.index)
    seen = asyncio.run(_ask(place, plan)) if running else None
    ready, parts = seen or (set(), [])
    nodes = [
        Node(
            name=seat.name,
            address=str(plan.node(seat.number)),
            running=seat.name in running,
            ready=seat.name in ready,
        )
        for seat in layout.seats(instance)
    ]
    answers = seen is not None or not running
    state, reason = judge(nodes, supervised=supervised, answers=answers, parts=parts)
    return Lab(
        name=place.name,
        state=state,
        reason=reason,
        directory=str(place.directory),
        server=plan.api_url,
        kubeconfig=str(place.kubeconfig),
        nodes=nodes,
        parts=parts,
    )


def judge(
    nodes: list[Node],
    *,
    supervised: bool,
    answers: bool,
    parts: Sequence[platform.Part] = (),
) -> tuple[State, str]:
    """The state of an instance and the first thing that is wrong with it. Pure."""
    stopped = not supervised and not any(node.running for node in nodes)
    asleep = [f"node {node.name} does not run" for node in nodes if not node.running]
    unready = [f"node {node.name} is not Ready" for node in nodes if not node.ready]
    unready += [f"{part.name}: {part.reason}" for part in parts if not part.ready]
    if stopped:
        return "stopped", "start it with: cobalt up"
    if not supervised:
        return "degraded", "nobody restarts nodes that end; bring the supervisor back: cobalt up"
    if not answers:
        return "degraded", "the API server does not answer"
    if asleep or unready:
        return "degraded", (asleep + unready)[0]
    return "running", f"{len(nodes)}/{len(nodes)} nodes Ready"


async def _ask(
    place: home.Home, plan: ranges.Ranges
) -> tuple[set[str], list[platform.Part]] | None:
    """Names of Ready nodes, and how our processes are; None if the API server does not answer."""
    connection = kubeconfig.load(place.kubeconfig, environ={})
    client = Client(HttpTransport(connection, agent="cobalt-status", request_timeout=5))
    found: set[str] = set()
    try:
        async for page, _ in client.list_pages(kubernetes.NODE):
            found.update(
                node["metadata"]["name"] for node in page if conditioned.is_true(node, "Ready")
            )
        return found, await platform.look(client, place, plan)
    except (errors.Unreachable, errors.ApiError):
        return None
    finally:
        await client.close()
