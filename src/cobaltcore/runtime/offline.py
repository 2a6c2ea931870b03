"""A cluster without an API server, to inspect which kinds controllers watch."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.transport import Request, Response, Socket


def cluster() -> Cluster:
    """A cluster whose client refuses every request."""
    return Cluster(Client(OfflineTransport()))


class OfflineTransport:
    """Refuses every request: constructing controllers must not send any."""

    async def send(self, request: Request) -> Response:
        raise _refused(request)

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise _refused(request)

    def websocket(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        raise _refused(request)

    async def close(self) -> None:
        return


def _refused(request: Request) -> errors.RuntimeFault:
    return errors.RuntimeFault(f"{request.method} {request.path}: there is no API server")
