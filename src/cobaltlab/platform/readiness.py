"""Waits for CRDs, operators and providers; explains a timeout with pod states or logs."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import timedelta

import aiohttp

from cobaltcore.api.foreign.kubernetes import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, POD
from cobaltcore.cli import phases
from cobaltcore.engine import readiness
from cobaltcore.engine.desired import workload
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, WatchScope
from cobaltimages import logs
from cobaltlab import errors, statedir, subnets, waiting
from cobaltlab.platform import development, rbac

TIMEOUT = timedelta(minutes=5)
REQUEST_SECONDS = 5.0

_PODS = WatchScope(rbac.NAMESPACE, rbac.LABEL)
_NOT_READY = "operators and providers did not become ready"


async def crds_established(client: Client, keys: Sequence[Key]) -> None:
    async def are_established() -> bool:
        found = [await client.get(CUSTOM_RESOURCE_DEFINITION, key) for key in keys]
        return all(readiness.is_true(each, "Established") for each in found)

    await _wait("CRDs were not established", are_established, explain=_nothing)


async def deployments(client: Client, phase: phases.Phase) -> None:
    """Wait until both Deployments are rolled out."""

    async def are_ready() -> bool:
        return _count(phase, [await is_rolled_out(client, each) for each in rbac.ALL])

    await _wait(_NOT_READY, are_ready, explain=lambda: _explain_pods(client))


async def host_processes(
    state_dir: statedir.StateDir, plan: subnets.Subnets, phase: phases.Phase
) -> None:
    """Wait until both host processes are ready."""

    async def are_ready() -> bool:
        urls = [development.health_url(plan, each) for each in rbac.ALL]
        return _count(phase, [await is_ready(url) for url in urls])

    async def explain() -> str:
        return logs.excerpt([state_dir.logs / f"{each}.log" for each in rbac.ALL])

    await _wait(_NOT_READY, are_ready, explain=explain)


async def pods_gone(client: Client) -> None:
    """Wait until no pod of operators and providers is left."""

    async def are_gone() -> bool:
        return not await _pods(client)

    await _wait(
        "pods of operators and providers were not deleted",
        are_gone,
        explain=lambda: _explain_pods(client),
    )


async def is_rolled_out(client: Client, account: str) -> bool:
    """Whether the Deployment of an account is rolled out."""
    try:
        found = await client.get(DEPLOYMENT, Key(rbac.NAMESPACE, account))
    except api_errors.NotFound:
        return False
    return workload.progress(found).settled


async def is_ready(url: str) -> bool:
    """Whether a readiness endpoint on the host returns success."""
    limit = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    try:
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(url) as answer:
            return answer.ok
    except (aiohttp.ClientError, TimeoutError):
        return False


def _count(phase: phases.Phase, ready: Sequence[bool]) -> bool:
    phase.detail(f"{sum(ready)}/{len(ready)} ready")
    phase.result(phase.latest)
    return all(ready)


async def _wait(
    failure: str,
    condition: Callable[[], Awaitable[bool]],
    *,
    explain: Callable[[], Awaitable[str]],
) -> None:
    try:
        await waiting.wait_until(condition, within=TIMEOUT)
    except TimeoutError as error:
        raise errors.LabError(
            f"{failure} within {TIMEOUT.total_seconds():.0f} s\n{await explain()}",
            hint=f"inspect the pods: cobalt kubectl -n {rbac.NAMESPACE} describe pods; "
            "`cobalt up` resumes",
        ) from error


async def _nothing() -> str:
    return ""


async def _pods(client: Client) -> list[Object]:
    return [pod async for page, _ in client.list_pages(POD, _PODS) for pod in page]


async def _explain_pods(client: Client) -> str:
    return "\n".join(line for pod in await _pods(client) for line in _failures(pod))


def _failures(pod: Object) -> Iterator[str]:
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        states: Iterable[Object] = [
            *(container.get("state") or {}).values(),
            *(container.get("lastState") or {}).values(),
        ]
        for state in states:
            if reason := state.get("reason"):
                message = (state.get("message") or "").strip()
                yield f"  pod {pod['metadata']['name']}: {reason} {message}"
    for each in status.get("conditions") or ():
        if each["status"] != "True" and each.get("message"):
            yield f"  pod {pod['metadata']['name']}: {each['message']}"
