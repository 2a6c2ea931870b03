"""The stages `cloud` and `demo` of `cobalt up`: a control plane that is Ready, a server that answers."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from importlib import resources
from typing import Any

from cobaltcore.api import controlplane
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, POD, STATEFUL_SET
from cobaltcore.engine.desired import names, workload
from cobaltcore.lab import errors, home, phases, record
from cobaltcore.lab.cloud import inside, objects
from cobaltcore.lab.cloud.outside import Outside
from cobaltcore.lab.platform import install
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.meta import Desired, Key, Object, Scope, key_of

CLOUD_IMAGES = (
    *objects.SERVICES,
    *("memcached", "ovn", "ovs", "libvirt", "guest", "tempest"),
)
PLANE_LIMIT = timedelta(minutes=30)
STEP_LIMIT = timedelta(minutes=12)
POLL_SECONDS = 0.7
_WORKLOADS = (
    (DEPLOYMENT, workload.progress),
    (STATEFUL_SET, workload.progress),
    (DAEMON_SET, workload.progress_on_nodes),
)


def cloud(place: home.Home, references: Mapping[str, str], *, shown: phases.Phases) -> None:
    """Apply the ControlPlane with these images and wait until it is Ready."""
    asyncio.run(_cloud(place, references, shown))


def demo(place: home.Home, instance: record.Instance, *, shown: phases.Phases) -> str:
    """Boot a server and hear from it: on its console, and from outside."""
    return asyncio.run(_demo(place, instance, shown))


async def _cloud(place: home.Home, references: Mapping[str, str], shown: phases.Phases) -> None:
    async with install.connected(place) as client:
        with shown.phase("control plane") as phase:
            await _apply(client, [objects.namespace()])
            await _apply(client, objects.cloud(references))
            await _reach(
                lambda: _is_ready(client, phase),
                PLANE_LIMIT,
                lambda: f"the control plane did not become Ready: {phase.latest}",
            )
        with shown.phase("command line"):
            await _apply(client, objects.toolbox(references))
            await _reach(
                lambda: _is_rolled_out(client),
                PLANE_LIMIT,
                lambda: f"the pods of Deployment {objects.TOOLBOX} do not start",
            )


async def _demo(place: home.Home, instance: record.Instance, shown: phases.Phases) -> str:
    async with install.connected(place) as client:
        with shown.phase("demo: image and network"):
            await asyncio.gather(_run(client, "images"), _run(client, "network"))
        with shown.phase("demo: server") as phase:
            server = await _run(client, "server")
            phase.result(f"{server['status']} {server['address']} on {server['host']}")
        if server["is_new"]:
            # One that ran before may have moved since, and its console with it.
            with shown.phase("demo: its own word") as phase:
                said = (await _run(client, "console"))["said"]
                phase.result(said[-2].removeprefix("guest: "))
    with shown.phase("demo: from outside") as phase, Outside(instance.index) as outside:
        await _reach(
            lambda: _answers(outside, server["floating"]),
            STEP_LIMIT,
            lambda: f"nobody answers at {server['floating']}",
        )
        phase.result(f"{server['floating']} answers to ping and on port 22")
    return f"server demo {server['status']} {server['address']}"


async def _apply(client: Client, wanted: Iterable[Desired]) -> None:
    """Apply objects; an API server that restarts is asked again."""
    listed = list(wanted)

    async def applied() -> bool:
        await install.apply(client, listed)
        return True

    await _reach(applied, STEP_LIMIT, lambda: "the API server did not take the cloud's objects")


async def _is_ready(client: Client, phase: phases.Phase) -> bool:
    found = await client.get(controlplane.KIND, objects.PLANE)
    status = found.get("status") or {}
    told = [each for each in status.get("conditions") or () if each["type"] == "Ready"]
    if not told or status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    progress, message = status.get("progress", ""), told[0].get("message", "")
    phase.detail(f"{progress}  {message}".rstrip())
    phase.result(f"{progress} parts ready")
    return told[0]["status"] == "True" and await _serves(client, phase)


async def _serves(client: Client, phase: phases.Phase) -> bool:
    """Whether all pods are there: after a restart of everything, Ready is a word from before."""
    for kind, progress in _WORKLOADS:
        async for page, _ in client.list_pages(kind, Scope(objects.SPACE)):
            for each in page:
                ready, wanted, settled = progress(each)
                if not settled:
                    name = f"{kind.kind} {each['metadata']['name']}"
                    phase.detail(f"{name}: {ready} of {wanted} pods are ready")
                    return False
    return True


async def _is_rolled_out(client: Client) -> bool:
    return workload.progress(await client.get(DEPLOYMENT, objects.TOOLBOX))[2]


async def _answers(outside: Outside, address: str) -> bool:
    def asked() -> bool:
        return outside.pings(address) and outside.banner(address).startswith("SSH-2.0")

    return await asyncio.to_thread(asked)


async def _run(client: Client, step: str) -> dict[str, Any]:
    """Run a step of the demo in the toolbox; its last line is the result."""
    source = resources.files(inside).joinpath("demo.py").read_bytes()
    done = await client.execute(
        await _toolbox(client),
        ("python3", "-", step),
        container="client",
        stdin=source,
        within=STEP_LIMIT,
    )
    if done.code:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise errors.LabError(
            f"demo: {step} failed: {words[-1] if words else f'exit code {done.code}'}",
            hint="cobalt openstack server show demo; `cobalt up` goes on from here",
        )
    result: dict[str, Any] = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return result


async def _toolbox(client: Client) -> Key:
    selector = ",".join(
        f"{k}={v}" for k, v in names.selector("toolbox", objects.TOOLBOX.name).items()
    )
    running: list[Object] = [
        pod
        async for page, _ in client.list_pages(POD, Scope(objects.SPACE, selector))
        for pod in page
        if (pod.get("status") or {}).get("phase") == "Running"
        and not pod["metadata"].get("deletionTimestamp")
    ]
    if not running:
        raise errors.LabError(
            f"no pod of Deployment {objects.TOOLBOX} runs", hint="run `cobalt up` again"
        )
    return key_of(running[0])


async def _reach(
    condition: Callable[[], Awaitable[bool]], limit: timedelta, failure: Callable[[], str]
) -> None:
    try:
        async with asyncio.timeout(limit.total_seconds()):
            while not await _holds(condition):
                await SystemClock().sleep(POLL_SECONDS)
    except TimeoutError as error:
        raise errors.LabError(
            f"{failure()} (after {limit.total_seconds() / 60:.0f} minutes)",
            hint=f"cobalt kubectl -n {objects.SPACE} get controlplanes,pods; "
            "`cobalt up` goes on from here",
        ) from error


async def _holds(condition: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await condition()
    except api_errors.Unreachable:
        return False
