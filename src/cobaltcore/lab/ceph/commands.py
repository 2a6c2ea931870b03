"""The seam to Ceph: administrative requests, and how they get to the monitor.

Requests travel on the standard input of a program in the monitor's pod and answers on its standard
output, so that no key is ever on a command line.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol

import msgspec

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.lab.ceph import daemons
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, Scope, Struct, key_of

Request = dict[str, Any]
Until = Literal["", "up", "clean"]
NO_WAIT = timedelta()


class Answer(Struct):
    """What became of a request: 0 or a negative error number, and what Ceph said."""

    code: int
    output: Any = None
    message: str = ""


class Report(Struct):
    """The state of the cluster, and answers up to the first refusal; none if it was too early."""

    status: dict[str, Any]
    answers: list[Answer] = []


class Silent(errors.RuntimeFault):
    """Ceph cannot be asked now."""


class Refused(errors.RuntimeFault):
    """Ceph says no."""


class Ceph(Protocol):
    """Somebody who can ask the Ceph cluster of a namespace."""

    async def ask(
        self,
        namespace: str,
        requests: Sequence[Request],
        *,
        until: Until = "",
        patience: timedelta = NO_WAIT,
    ) -> Report:
        """Wait until the cluster is `up` or `clean`, then carry out requests; raise Silent."""
        ...


def command(prefix: str, **arguments: Any) -> Request:
    """A command of the monitor."""
    return {"command": {"prefix": prefix, "format": "json", **arguments}}


def init_images(pool: str) -> Request:
    """Make a pool ready for block images; harmless if it is."""
    return {"images": "init", "pool": pool}


def list_images(pool: str) -> Request:
    """Names of block images, also of those in the trash."""
    return {"images": "list", "pool": pool}


def refusal(requests: Sequence[Request], report: Report) -> Refused | None:
    """The refusal in a report, told without the content of the request."""
    if not report.answers or not report.answers[-1].code:
        return None
    failed, said = requests[len(report.answers) - 1], report.answers[-1]
    what = failed["command"]["prefix"] if "command" in failed else f"{failed['images']} images"
    return Refused(f"Ceph refuses {what!r} ({said.code}): {said.message}")


def expect(requests: Sequence[Request], report: Report) -> list[Answer]:
    """The answers; raise what Ceph refuses."""
    refused = refusal(requests, report)
    if refused is not None:
        raise refused
    return report.answers


class PodCeph:
    """Asks through a program in the monitor's pod."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(
        self,
        namespace: str,
        requests: Sequence[Request],
        *,
        until: Until = "",
        patience: timedelta = NO_WAIT,
    ) -> Report:
        """Wait, carry out, answer."""
        pod = await self._monitor(namespace)
        call = {"requests": requests, "until": until, "seconds": patience.total_seconds()}
        try:
            done = await self._client.execute(
                pod,
                daemons.ASK,
                container=daemons.MON.type,
                stdin=msgspec.json.encode(call),
                within=patience + timedelta(seconds=60),
            )
        except (errors.ApiError, errors.Unreachable) as error:
            raise Silent(f"Ceph cannot be asked in pod {pod}: {error.message}") from error
        if done.code:
            said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            why = said or f"exit code {done.code}"
            raise Silent(f"Ceph does not answer in pod {pod}: {why}")
        return msgspec.json.decode(done.stdout, type=Report)

    async def _monitor(self, namespace: str) -> Key:
        scope = Scope(namespace, daemons.MON_SELECTOR)
        async for pods, _ in self._client.list_pages(POD, scope):
            for pod in pods:
                if _runs(pod):
                    return key_of(pod)
        raise Silent(f"no monitor runs in namespace {namespace}")


def _runs(pod: Object) -> bool:
    running = (pod.get("status") or {}).get("phase") == "Running"
    return running and not pod["metadata"].get("deletionTimestamp")
