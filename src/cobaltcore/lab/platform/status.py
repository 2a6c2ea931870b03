"""How operators and providers of a lab are, in pods or on the host."""

from dataclasses import dataclass
from typing import Literal

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.engine.desired import workload
from cobaltcore.lab import home, hosted, ranges
from cobaltcore.lab.platform import accounts, development, waiting
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A process of ours: where it runs, whether it is ready, and why not."""

    name: str
    runs: Literal["in a pod", "on the host"]
    ready: bool
    reason: str


async def look(client: Client, place: home.Home, plan: ranges.Ranges) -> list[Part]:
    """Everything of the platform that was brought up; nothing if the stage was not reached."""
    on_host = hosted.names(place.directory)
    found = []
    for account in accounts.ALL:
        if account in on_host:
            found.append(await _process(place, plan, account))
        elif (deployment := await _deployment(client, account)) is not None:
            found.append(_pods(account, deployment))
    return found


async def _process(place: home.Home, plan: ranges.Ranges, account: str) -> Part:
    pid = hosted.pid(place.directory, account)
    ready = pid is not None and await waiting.answers(development.health_url(plan, account))
    reason = f"process {pid}" if pid else f"does not run, see {place.logs / account}.log"
    return Part(name=account, runs="on the host", ready=ready, reason=reason)


def _pods(account: str, deployment: Object) -> Part:
    ready, wanted, settled = workload.progress(deployment)
    reason = f"{ready}/{wanted} pods ready" + ("" if settled else ", being rolled out")
    return Part(name=account, runs="in a pod", ready=settled, reason=reason)


async def _deployment(client: Client, account: str) -> Object | None:
    try:
        return await client.get(DEPLOYMENT, Key(accounts.NAMESPACE, account))
    except errors.NotFound:
        return None
