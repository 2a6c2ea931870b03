"""An API server in memory: one Lease, objects to watch, and the paths of what else is written."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from cobaltcore.runtime import errors
from cobaltcore.runtime.meta import Object
from cobaltcore.runtime.transport import Request, Response, Socket

INITIAL_EVENTS_END = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1000",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class MemoryServer:
    """Answers as the API server would; `away` and `hangs` are its failures."""

    def __init__(self, *objects: Object | bytes) -> None:
        self.objects = objects
        """What every watch starts with; bytes are sent as they are."""
        self.lease: Object | None = None
        self.away = False
        self.hangs = False
        self.writes: list[str] = []
        """Paths of what was written besides the Lease."""
        self.statuses: list[Object] = []
        """Objects whose status was written."""

    @property
    def holder(self) -> str:
        return str((self.lease or {"spec": {}})["spec"].get("holderIdentity", ""))

    def take_over(self, identity: str) -> None:
        """As another replica does once it has seen the Lease unchanged for its duration."""
        assert self.lease is not None
        self._store({**self.lease, "spec": {**self.lease["spec"], "holderIdentity": identity}})

    async def send(self, request: Request) -> Response:
        if self.hangs:
            await asyncio.Event().wait()
        if self.away:
            raise errors.Unreachable("the API server is away")
        if request.path == "/version":
            return Response(200, b"{}")
        if "/leases" not in request.path:
            self.writes.append(request.path)
            if request.path.endswith("/status"):
                self.statuses.append(msgspec.json.decode(request.body))
            return Response(200, request.body)
        if request.method == "GET":
            return self._found()
        written = msgspec.json.decode(request.body)
        if self.lease is not None and _version(written) != _version(self.lease):
            return Response(409, b'{"reason":"Conflict"}')
        self._store(written)
        return self._found()

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream()

    def websocket(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        raise NotImplementedError

    async def close(self) -> None:
        return

    @asynccontextmanager
    async def _stream(self) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._events()

    async def _events(self) -> AsyncIterator[bytes]:
        for each in self.objects:
            body = each if isinstance(each, bytes) else msgspec.json.encode(each)
            yield b'{"type":"ADDED","object":' + body + b"}\n"
        yield INITIAL_EVENTS_END
        await asyncio.Event().wait()

    def _found(self) -> Response:
        if self.lease is None:
            return Response(404, b'{"reason":"NotFound"}')
        return Response(200, msgspec.json.encode(self.lease))

    def _store(self, lease: Object) -> None:
        version = str(int(_version(self.lease or {"metadata": {}}) or 0) + 1)
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": version}}


def _version(lease: Object) -> str:
    return str(lease["metadata"].get("resourceVersion", ""))
