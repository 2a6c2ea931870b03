"""State of operators and providers of a lab, in pods or on the host."""

from dataclasses import dataclass
from typing import Literal

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.engine.desired import workload
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from cobaltlab import hostprocess, statedir, subnets
from cobaltlab.platform import development, rbac, readiness


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Operators or providers: where they run, whether they are ready, and why not."""

    name: str
    runs: Literal["in a pod", "on the host"]
    ready: bool
    reason: str


async def collect(
    client: Client, state_dir: statedir.StateDir, plan: subnets.Subnets
) -> list[Component]:
    """All components that are installed."""
    on_host = hostprocess.names(state_dir.directory)
    found = []
    for account in rbac.ALL:
        if account in on_host:
            found.append(await _process(state_dir, plan, account))
        elif (deployment := await _deployment(client, account)) is not None:
            found.append(_pods(account, deployment))
    return found


async def _process(state_dir: statedir.StateDir, plan: subnets.Subnets, account: str) -> Component:
    pid = hostprocess.pid(state_dir.directory, account)
    ready = pid is not None and await readiness.is_ready(development.health_url(plan, account))
    reason = f"PID {pid}" if pid else f"not running, read {state_dir.logs / account}.log"
    return Component(name=account, runs="on the host", ready=ready, reason=reason)


def _pods(account: str, deployment: Object) -> Component:
    found = workload.progress(deployment)
    ready = found.settled and found.wanted > 0
    reason = f"{found.ready}/{found.wanted} pods ready" if ready else found.describe(account)
    if not found.wanted:
        reason = "scaled to 0 replicas: nothing is reconciled"
    return Component(name=account, runs="in a pod", ready=ready, reason=reason)


async def _deployment(client: Client, account: str) -> Object | None:
    try:
        return await client.get(DEPLOYMENT, Key(rbac.NAMESPACE, account))
    except errors.NotFound:
        return None
