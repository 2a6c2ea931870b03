"""Administrative requests to Ceph through an agent in the monitor's pod.

Requests are on its stdin and results on its stdout, so that no key is on a command line.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol

import msgspec

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, Struct, WatchScope, key_of
from cobaltlab.ceph import daemons
from cobaltlab.providers.failures import ReconcileError
from cobaltlab.providers.reconciler import is_deleting

Request = dict[str, Any]
Until = Literal["", "up", "clean"]
NO_WAIT = timedelta()
RETRY = timedelta(seconds=15)


class Result(Struct):
    """Result of a request: 0 or a negative errno, output and message of Ceph."""

    code: int
    output: Any = None
    message: str = ""


class Response(Struct):
    """`ceph status` and results up to the first error; none if the state was not reached in time."""

    status: dict[str, Any]
    results: list[Result] = []


class CephUnreachable(ReconcileError):
    """The monitor cannot be reached or does not respond."""


class CommandFailed(ReconcileError):
    """Ceph rejected a request; what would change its mind cannot be watched."""

    def __init__(self, message: str) -> None:
        super().__init__(message, after=RETRY)


class Ceph(Protocol):
    """Executes requests in the Ceph cluster of a namespace."""

    async def execute(
        self,
        namespace: str,
        requests: Sequence[Request],
        *,
        until: Until = "",
        wait_for: timedelta = NO_WAIT,
    ) -> Response:
        """Wait until the cluster is `up` or `clean`, then execute; raises CephUnreachable."""
        ...


def command(prefix: str, **arguments: Any) -> Request:
    """A monitor command."""
    return {"command": {"prefix": prefix, "format": "json", **arguments}}


def init_images(pool: str) -> Request:
    """Initialize a pool for RBD images; idempotent."""
    return {"images": "init", "pool": pool}


def list_images(pool: str) -> Request:
    """Names of RBD images, also of those in the trash."""
    return {"images": "list", "pool": pool}


def failure(requests: Sequence[Request], response: Response) -> CommandFailed | None:
    """The failed request, without its arguments."""
    if not response.results or not response.results[-1].code:
        return None
    failed, result = requests[len(response.results) - 1], response.results[-1]
    name = failed["command"]["prefix"] if "command" in failed else f"{failed['images']} images"
    return CommandFailed(f"Ceph rejects {name!r} ({result.code}): {result.message}")


def expect(requests: Sequence[Request], response: Response) -> list[Result]:
    """The results; raises CommandFailed."""
    failed = failure(requests, response)
    if failed is not None:
        raise failed
    return response.results


class AgentInPod:
    """Executes requests with the agent in the monitor's pod."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def execute(
        self,
        namespace: str,
        requests: Sequence[Request],
        *,
        until: Until = "",
        wait_for: timedelta = NO_WAIT,
    ) -> Response:
        pod = await self._monitor(namespace)
        call = {"requests": requests, "until": until, "seconds": wait_for.total_seconds()}
        try:
            done = await self._client.execute(
                pod,
                daemons.ADMIN_AGENT,
                container=daemons.MON.type,
                stdin=msgspec.json.encode(call),
                within=wait_for + timedelta(seconds=60),
            )
        except (errors.ApiError, errors.Unreachable) as error:
            raise CephUnreachable(f"cannot exec in monitor pod {pod}: {error.message}") from error
        if done.code:
            last_line = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            cause = last_line or f"exit code {done.code}"
            raise CephUnreachable(f"Ceph does not respond in monitor pod {pod}: {cause}")
        return msgspec.json.decode(done.stdout, type=Response)

    async def _monitor(self, namespace: str) -> Key:
        scope = WatchScope(namespace, daemons.MON_SELECTOR)
        async for pods, _ in self._client.list_pages(POD, scope):
            for pod in pods:
                if _is_running(pod):
                    return key_of(pod)
        raise CephUnreachable(
            f"no monitor pod {daemons.MON_SELECTOR!r} is running in namespace {namespace!r}"
        )


def _is_running(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and not is_deleting(pod)
