"""The step `cloud` of `cobalt up`: a ControlPlane that is Ready, and a pod with OpenStack's client."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta

from cobaltcore.api import controlplane
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from cobaltcore.cli import cloudlogin, phases
from cobaltcore.engine.desired import workload
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Desired, WatchScope
from cobaltimages.errors import HostError
from cobaltlab import errors, hostnames, osclient, statedir, waiting
from cobaltlab.cloud import objects
from cobaltlab.platform import apply

IMAGES = (
    *objects.SERVICES,
    *("memcached", "ovn", "ovs", "libvirt", "guest", "tempest"),
)
READY_TIMEOUT = timedelta(minutes=30)
APPLY_TIMEOUT = timedelta(minutes=12)
POLL_SECONDS = 0.7
_WORKLOADS = (
    (DEPLOYMENT, workload.progress),
    (STATEFUL_SET, workload.progress),
    (DAEMON_SET, workload.progress_on_nodes),
)


def deploy(
    state_dir: statedir.StateDir, references: Mapping[str, str], *, progress: phases.Phases
) -> None:
    """Apply the ControlPlane with these images and wait until it is Ready."""
    asyncio.run(_deploy(state_dir, references, progress))


async def _deploy(
    state_dir: statedir.StateDir, references: Mapping[str, str], progress: phases.Phases
) -> None:
    async with apply.connected(state_dir) as client:
        with progress.phase("control plane") as phase:
            await _apply(client, [objects.namespace()])
            await _apply(client, objects.control_plane(references))
            await wait(
                lambda: _is_ready(client, phase),
                READY_TIMEOUT,
                lambda: (
                    f'ControlPlane "{objects.CONTROL_PLANE}" did not become Ready: {phase.latest}'
                ),
            )
        with progress.phase("toolbox"):
            await _apply(client, objects.toolbox(references))
            await wait(
                lambda: _is_rolled_out(client),
                READY_TIMEOUT,
                lambda: f'Deployment "{objects.TOOLBOX}" did not become ready',
            )
        with progress.phase("client and names on this machine") as phase:
            phase.result(await _prepare_host(client, state_dir, phase))


async def _prepare_host(client: Client, state_dir: statedir.StateDir, phase: phases.Phase) -> str:
    """What `cobalt openstack` and other clients need; the cloud works without it."""
    try:
        await asyncio.to_thread(osclient.ensure, report=phase.detail)
        wanted = await cloudlogin.addresses(client)
        taken = hostnames.write(state_dir.name, wanted)
    except (OSError, HostError) as error:
        return f"incomplete: {str(error).splitlines()[0]}"
    others = f"; {len(taken)} are of another lab" if taken else ""
    return f"{len(wanted) - len(taken)} names in {hostnames.HOSTS}{others}"


async def wait(
    condition: Callable[[], Awaitable[bool]], within: timedelta, failure: Callable[[], str]
) -> None:
    """Wait for a condition, also through restarts of the API server; raises LabError."""
    try:
        await waiting.wait_until(
            condition, within=within, interval=POLL_SECONDS, ignore=(api_errors.Unreachable,)
        )
    except TimeoutError as error:
        raise errors.LabError(
            f"{failure()} (after {within.total_seconds() / 60:.0f} minutes)",
            hint=f"inspect it: cobalt kubectl -n {objects.NAMESPACE} get controlplanes,pods; "
            "`cobalt up` resumes",
        ) from error


async def _apply(client: Client, wanted: Iterable[Desired]) -> None:
    listed = list(wanted)

    async def is_applied() -> bool:
        await apply.apply(client, listed)
        return True

    await wait(is_applied, APPLY_TIMEOUT, lambda: "the API server is unreachable")


async def _is_ready(client: Client, phase: phases.Phase) -> bool:
    found = await client.get(controlplane.KIND, objects.CONTROL_PLANE)
    status = found.get("status") or {}
    ready = [each for each in status.get("conditions") or () if each["type"] == "Ready"]
    if not ready or status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    progress, message = status.get("progress", ""), ready[0].get("message", "")
    phase.detail(f"{progress}  {message}".rstrip())
    phase.result(f"{progress} parts ready")
    return ready[0]["status"] == "True" and await _workloads_are_ready(client, phase)


async def _workloads_are_ready(client: Client, phase: phases.Phase) -> bool:
    """Whether all pods are ready: after a restart of the lab, condition Ready may be stale."""
    for kind, progress in _WORKLOADS:
        async for page, _ in client.list_pages(kind, WatchScope(objects.NAMESPACE)):
            for each in page:
                found = progress(each)
                if not found.settled:
                    phase.detail(f"{kind.kind}: {found.describe(each['metadata']['name'])}")
                    return False
    return True


async def _is_rolled_out(client: Client) -> bool:
    return workload.progress(await client.get(DEPLOYMENT, objects.TOOLBOX)).settled
