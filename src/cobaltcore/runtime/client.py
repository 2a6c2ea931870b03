"""The requests to an API server. Nothing else in the project opens a connection to one."""

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec

from cobaltcore.runtime import errors, execution, fence, paths, stream
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.counting import Count
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, WatchScope, key_of
from cobaltcore.runtime.metrics import API_REQUESTS
from cobaltcore.runtime.transport import Request, Response, Transport

PAGE_SIZE = 500
THROTTLED_TRIES = 5
# The server sends a bookmark about once a minute, so a longer silence means a dead connection.
WATCH_IDLE_SECONDS = 150
FULL = "application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


class Client:
    """A typed client of one API server."""

    def __init__(self, transport: Transport, *, clock: Clock | None = None) -> None:
        self._transport = transport
        self._clock = clock or SystemClock()

    async def get(self, kind: Kind, key: Key) -> Object:
        return await self._object(kind, Request("GET", paths.item(kind, key)))

    async def list_pages(
        self, kind: Kind, scope: WatchScope = EVERYTHING, *, page_size: int = PAGE_SIZE
    ) -> AsyncIterator[tuple[list[Object], str]]:
        """Yield pages of objects, each with the resource version of the whole list."""
        accept = PARTIAL_LIST if scope.metadata_only else FULL
        token = ""
        while True:
            params = {"limit": str(page_size)}
            params |= {"labelSelector": scope.selector} if scope.selector else {}
            params |= {"continue": token} if token else {}
            path = paths.collection(kind, scope.namespace)
            page = await self._object(kind, Request("GET", path, params, accept=accept))
            items = page.get("items") or []
            for item in items:
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
            yield items, page["metadata"].get("resourceVersion", "")
            token = page["metadata"].get("continue", "")
            if not token:
                return

    async def watch(
        self,
        kind: Kind,
        scope: WatchScope = EVERYTHING,
        *,
        version: str,
        initial: bool = False,
        undecodable: Callable[[Exception], None] | None = None,
    ) -> AsyncGenerator[stream.WatchEvent]:
        """Watch changes after `version`; with `initial` the current state comes first.

        An event that cannot be decoded is reported to `undecodable` and left out.
        """
        seconds = random.randint(300, 600)  # noqa: S311 spreads reconnects, not a secret
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
            "resourceVersion": version,
        }
        params |= {"labelSelector": scope.selector} if scope.selector else {}
        if initial:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        accept = PARTIAL if scope.metadata_only else FULL
        path = paths.collection(kind, scope.namespace)
        request = Request("GET", path, params, accept=accept)
        API_REQUESTS.labels("WATCH", kind.kind).inc()
        events = stream.Events(undecodable)
        try:
            async with self._transport.stream(request, idle_timeout=WATCH_IDLE_SECONDS) as chunks:
                async for chunk in chunks:
                    for event in events.of(chunk):
                        yield event
        except errors.NotFound as error:
            raise _kind_missing(kind, error) from error

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Create an object under its own or a generated name."""
        namespace = obj["metadata"].get("namespace", "")
        body = msgspec.json.encode(obj)
        return await self._object(
            kind, Request("POST", paths.collection(kind, namespace), body=body)
        )

    async def apply(
        self,
        kind: Kind,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
        dry_run: bool = False,
    ) -> Object:
        """Apply `obj` as field manager `manager`; `force` takes over fields of other managers."""
        params = {"fieldManager": manager, "force": "true" if force else "false"}
        params |= {"dryRun": "All"} if dry_run else {}
        path = paths.item(kind, key_of(obj), subresource)
        body = msgspec.json.encode(obj)
        return await self._object(kind, Request("PATCH", path, params, body, APPLY))

    async def apply_status(
        self, kind: Kind, obj: Mapping[str, Any], *, manager: str
    ) -> CachedObject:
        """Apply the status in `obj` as `manager`, taking over fields of other managers."""
        params = {"fieldManager": manager, "force": "true"}
        path = paths.item(kind, key_of(obj), "status")
        request = Request("PATCH", path, params, msgspec.json.encode(obj), APPLY)
        return CachedObject.read(await self._body(kind, request))

    async def patch(
        self,
        kind: Kind,
        key: Key,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Merge `patch` into an object; put a resourceVersion into it to refuse a stale write."""
        path = paths.item(kind, key, subresource)
        params = {"dryRun": "All"} if dry_run else {}
        body = msgspec.json.encode(patch)
        return await self._object(kind, Request("PATCH", path, params, body, MERGE))

    async def replace(self, kind: Kind, obj: Object) -> Object:
        """Replace an object; its resourceVersion must be current."""
        path = paths.item(kind, key_of(obj))
        return await self._object(kind, Request("PUT", path, body=msgspec.json.encode(obj)))

    async def delete(
        self, kind: Kind, key: Key, *, uid: str = "", version: str = "", propagation: str = ""
    ) -> None:
        """Delete an object if it matches `uid` and `version`; not existing is fine."""
        preconditions = {"uid": uid, "resourceVersion": version}
        options: dict[str, Any] = {
            "preconditions": {name: value for name, value in preconditions.items() if value}
        }
        options |= {"propagationPolicy": propagation} if propagation else {}
        body = msgspec.json.encode(options)
        try:
            await self._send(kind.kind, Request("DELETE", paths.item(kind, key), body=body))
        except errors.NotFound:
            return

    async def raw(self, path: str, *, params: Mapping[str, str] | None = None) -> bytes:
        """GET a path that is not an object: versions, discovery, health, logs."""
        response = await self._send("raw", Request("GET", path, params or {}))
        return response.body

    async def lines(
        self, path: str, *, params: Mapping[str, str], idle_timeout: float
    ) -> AsyncGenerator[bytes]:
        """GET a path whose lines come over time: the log of a container."""
        API_REQUESTS.labels("GET", "raw").inc()
        request = Request("GET", path, params, accept="*/*")
        rest = b""
        async with self._transport.stream(request, idle_timeout=idle_timeout) as chunks:
            async for chunk in chunks:
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield line
        if rest:
            yield rest

    async def execute(
        self,
        pod: Key,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes = b"",
        within: timedelta = execution.TIMEOUT,
    ) -> execution.Completed:
        """Run a command in a container of a pod; pass secrets on `stdin`."""
        fence.check()
        API_REQUESTS.labels("EXEC", "Pod").inc()
        program = execution.Program(pod, tuple(command), container)
        return await execution.run(self._transport, program, stdin=stdin, within=within)

    async def close(self) -> None:
        await self._transport.close()

    async def _object(self, kind: Kind, request: Request) -> Object:
        decoded: Object = msgspec.json.decode(await self._body(kind, request))
        return decoded

    async def _body(self, kind: Kind, request: Request) -> bytes:
        try:
            response = await self._send(kind.kind, request)
        except errors.NotFound as error:
            # A missing object has a Status with its name; a missing kind is a bare 404 page.
            if error.reason != "NotFound":
                raise _kind_missing(kind, error) from error
            raise
        return response.body

    async def _send(self, label: str, request: Request) -> Response:
        for attempt in range(THROTTLED_TRIES):
            if request.method != "GET":
                fence.check()
            _counter(request.method, label).inc()
            response = await self._transport.send(request)
            if response.status != 429 or attempt == THROTTLED_TRIES - 1:
                break
            await self._clock.sleep(response.retry_after or 2**attempt / 4)
        if response.status >= 400:
            raise errors.from_status(
                response.status, response.body, retry_after=response.retry_after
            )
        return response


@cache
def _counter(method: str, label: str) -> Count:
    """The counter of a method and a kind, of which there are few."""
    return API_REQUESTS.labels(method, label)


def _kind_missing(kind: Kind, cause: errors.NotFound) -> errors.RuntimeFault:
    if cause.reason == "NotFound":
        return cause
    return errors.KindMissing(
        f"the API server does not serve {kind.kind} ({kind.api_version})",
        hint="install the CRDs: cobalt crds | kubectl apply --server-side -f -",
    )
