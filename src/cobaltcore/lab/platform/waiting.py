"""Waits for operators and providers, and says what keeps them when it takes too long."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import timedelta

import aiohttp

from cobaltcore.api.foreign.kubernetes import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, POD
from cobaltcore.engine.desired import workload
from cobaltcore.lab import errors, home, logs, phases, ranges
from cobaltcore.lab.platform import accounts, development
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.meta import Key, Object, Scope

LIMIT = timedelta(minutes=5)
POLL_SECONDS = 0.2
ANSWER_SECONDS = 5.0

_PODS = Scope(accounts.NAMESPACE, accounts.LABEL)
_NOT_READY = "operators and providers did not become ready"


async def served(client: Client, keys: Sequence[Key]) -> None:
    """Wait until all kinds are served."""

    async def are_served() -> bool:
        found = [await client.get(CUSTOM_RESOURCE_DEFINITION, key) for key in keys]
        return all(_is_true(each, "Established") for each in found)

    await _reach("kinds were not served", are_served, explain=_nothing)


async def deployed(client: Client, phase: phases.Phase) -> None:
    """Wait until the newest pods of both Deployments work."""

    async def are_ready() -> bool:
        return _count(phase, [await is_rolled_out(client, each) for each in accounts.ALL])

    await _reach(_NOT_READY, are_ready, explain=lambda: _explain_pods(client))


async def hosted(place: home.Home, plan: ranges.Ranges, phase: phases.Phase) -> None:
    """Wait until both processes on the host work."""

    async def are_ready() -> bool:
        urls = [development.health_url(plan, each) for each in accounts.ALL]
        return _count(phase, [await answers(url) for url in urls])

    async def explain() -> str:
        return logs.excerpt([place.logs / f"{each}.log" for each in accounts.ALL])

    await _reach(_NOT_READY, are_ready, explain=explain)


async def no_pods(client: Client) -> None:
    """Wait until no pod of the platform is left."""

    async def are_gone() -> bool:
        return not await _pods(client)

    await _reach("pods do not end", are_gone, explain=lambda: _explain_pods(client))


async def is_rolled_out(client: Client, account: str) -> bool:
    """Whether the Deployment of an account runs in its newest form."""
    try:
        found = await client.get(DEPLOYMENT, Key(accounts.NAMESPACE, account))
    except api_errors.NotFound:
        return False
    return workload.progress(found)[2]


async def answers(url: str) -> bool:
    """Whether a process on the host says that it is ready."""
    limit = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
    try:
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(url) as answer:
            return answer.ok
    except (aiohttp.ClientError, TimeoutError):
        return False


def _count(phase: phases.Phase, ready: Sequence[bool]) -> bool:
    phase.detail(f"{sum(ready)}/{len(ready)} ready")
    phase.result(phase.latest)
    return all(ready)


async def _reach(
    failure: str,
    condition: Callable[[], Awaitable[bool]],
    *,
    explain: Callable[[], Awaitable[str]],
) -> None:
    try:
        async with asyncio.timeout(LIMIT.total_seconds()):
            while not await condition():
                await SystemClock().sleep(POLL_SECONDS)
    except TimeoutError as error:
        raise errors.LabError(
            f"{failure} within {LIMIT.total_seconds():.0f} s\n{await explain()}",
            hint=f"cobalt kubectl -n {accounts.NAMESPACE} describe pods; "
            "`cobalt up` goes on from here",
        ) from error


async def _nothing() -> str:
    return ""


async def _pods(client: Client) -> list[Object]:
    return [pod async for page, _ in client.list_pages(POD, _PODS) for pod in page]


async def _explain_pods(client: Client) -> str:
    return "\n".join(line for pod in await _pods(client) for line in _complaints(pod))


def _complaints(pod: Object) -> Iterator[str]:
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        states: Iterable[Object] = [
            *(container.get("state") or {}).values(),
            *(container.get("lastState") or {}).values(),
        ]
        for state in states:
            if reason := state.get("reason"):
                said = (state.get("message") or "").strip()
                yield f"  pod {pod['metadata']['name']}: {reason} {said}"
    for each in status.get("conditions") or ():
        if each["status"] != "True" and each.get("message"):
            yield f"  pod {pod['metadata']['name']}: {each['message']}"


def _is_true(obj: Object, condition: str) -> bool:
    found = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in found)
