"""Logs of several containers as one: merged by time, each line with its pod and container."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.cli import listing
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, WatchScope, key_of

LOOK_SECONDS = 2.0
SILENCE_SECONDS = 600.0
"""After which a connection is opened again, as a dead one looks like a silent one."""
AT_ONCE = 16


class Source(NamedTuple):
    """A container of a pod."""

    pod: Key
    container: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.pod.namespace}/pods/{self.pod.name}/log"


class Line(NamedTuple):
    """One line of a log; `at` is fixed in length, so that lines sort by it."""

    at: str
    source: Source
    text: str


def sources(pods: Iterable[Object], *, previous: bool = False) -> Iterator[Source]:
    """Containers that have started, or those that ended before."""
    for source, status in _containers(pods):
        started = "waiting" not in (status.get("state") or {})
        if status.get("restartCount") if previous else started:
            yield source


def _containers(pods: Iterable[Object]) -> Iterator[tuple[Source, Object]]:
    for pod in pods:
        status = pod.get("status") or {}
        for field in ("initContainerStatuses", "containerStatuses"):
            for each in status.get(field) or ():
                yield Source(key_of(pod), each["name"]), each


def line(source: Source, raw: bytes) -> Line:
    """A line as the API server sends it with timestamps."""
    at, _, text = raw.decode(errors="replace").partition(" ")
    return Line(at, source, text)


async def read(
    client: Client, wanted: Iterable[Source], options: Mapping[str, str]
) -> tuple[list[Line], list[str]]:
    """The lines that there are, by time; and what could not be read."""
    gate = asyncio.Semaphore(AT_ONCE)
    missing: list[str] = []

    async def one(source: Source) -> list[Line]:
        params = {**options, "container": source.container, "timestamps": "true"}
        async with gate:
            try:
                text = await client.raw(source.path, params=params)
            except (errors.ApiError, errors.Unreachable) as error:
                missing.append(f"{source.pod.name}/{source.container}: {error.message}")
                return []
        return [line(source, raw) for raw in text.splitlines()]

    found = await asyncio.gather(*(one(each) for each in wanted))
    return sorted((each for lines in found for each in lines), key=lambda each: each.at), missing


class Follower:
    """Shows new lines of all pods of a scope, also of pods that come later."""

    def __init__(self, client: Client, scope: WatchScope, show: Callable[[Line], None]) -> None:
        self._client = client
        self._scope = scope
        self._show = show
        self._shown: dict[Source, str] = {}
        self._known: set[str] = set()
        """IDs of containers that are or were followed."""

    def seen(self, shown: Iterable[Line]) -> None:
        """Leave these lines out, and everything before them."""
        for each in shown:
            self._shown[each.source] = max(each.at, self._shown.get(each.source, ""))

    async def run(self, since: str) -> None:
        """Follow until cancelled; `since`: of containers of which nothing was shown."""
        async with asyncio.TaskGroup() as group:
            while True:
                for source, status in _containers(await self._pods()):
                    id_ = status.get("containerID", "")
                    if id_ and id_ not in self._known and "waiting" not in status["state"]:
                        self._known.add(id_)
                        group.create_task(self._follow(source, id_, since))
                await asyncio.sleep(LOOK_SECONDS)

    async def _pods(self) -> list[Object]:
        with suppress(errors.Unreachable):
            return await listing.objects(self._client, POD, self._scope)
        return []

    async def _follow(self, source: Source, id_: str, since: str) -> None:
        """Until the container ends; one whose connection is lost is followed again."""
        try:
            async for each in self._lines(source, self._shown.get(source) or since):
                if each.at > self._shown.get(source, ""):
                    self._shown[source] = each.at
                    self._show(each)
        except errors.Unreachable:
            self._known.discard(id_)
        except errors.ApiError:  # the pod is gone
            return

    async def _lines(self, source: Source, since: str) -> AsyncIterator[Line]:
        params = {"container": source.container, "timestamps": "true", "follow": "true"}
        params |= {"sinceTime": since} if since else {}
        found = self._client.lines(source.path, params=params, idle_timeout=SILENCE_SECONDS)
        async with aclosing(found):
            async for raw in found:
                yield line(source, raw)
