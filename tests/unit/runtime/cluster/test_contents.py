from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import msgspec

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope
from cobaltcore.runtime.transport import Request, Response, Socket

SECRET = Kind("", "v1", "Secret", "secrets")
LABELS = {"part-of": "cobaltcore"}


class OneSecret:
    """A server that has one Secret in its newest version."""

    def __init__(self) -> None:
        self.secret: Object = {}
        self.requests: list[str] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(f"{request.method} {request.path}")
        return Response(200, msgspec.json.encode(self.secret))

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError

    def websocket(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        raise NotImplementedError

    async def close(self) -> None:
        return


def a_secret(version: int, value: str, **labels: str) -> Object:
    metadata = {"name": "s", "namespace": "ns", "resourceVersion": str(version), "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"key": value}}


def metadata_of(secret: Object) -> Object:
    return {name: secret[name] for name in ("apiVersion", "kind", "metadata")}


class Informers:
    """Two informers of Secrets, fed by the test instead of their watches."""

    def __init__(self) -> None:
        self.server = OneSecret()
        self.cluster = Cluster(Client(self.server), content_labels=LABELS)
        self.metadata = self.cluster.informer(SECRET, WatchScope(metadata_only=True))
        (self.content,) = (i for i in self.cluster.informers if i is not self.metadata)

    async def value(self) -> str:
        found = await self.cluster.read(SECRET, Key("ns", "s"))
        assert found is not None
        value: str = found["data"]["key"]
        return value


def observe(informers: Informers, secret: Object, *, content: bool) -> None:
    informers.metadata.observe(CachedObject.of(metadata_of(secret)))
    if content:
        informers.content.observe(CachedObject.of(secret))


def test_labelled_objects_are_watched_with_content() -> None:
    informers = Informers()
    assert informers.content.scope == WatchScope(selector="part-of=cobaltcore")
    assert informers.metadata.scope == WatchScope(metadata_only=True)


async def test_content_of_labelled_objects_needs_no_request() -> None:
    informers = Informers()
    observe(informers, a_secret(1, "one", **LABELS), content=True)
    assert await informers.value() == "one"
    assert informers.server.requests == []


async def test_content_of_other_objects_is_fetched_once_per_version() -> None:
    informers = Informers()
    for version, value in ((1, "one"), (2, "two")):
        informers.server.secret = a_secret(version, value)
        observe(informers, informers.server.secret, content=False)
        assert [await informers.value(), await informers.value()] == [value, value]
    assert informers.server.requests == ["GET /api/v1/namespaces/ns/secrets/s"] * 2


async def test_content_that_is_older_than_the_metadata_is_not_used() -> None:
    informers = Informers()
    observe(informers, a_secret(1, "one", **LABELS), content=True)
    informers.server.secret = a_secret(2, "two", **LABELS)
    observe(informers, informers.server.secret, content=False)
    assert await informers.value() == "two"


async def test_the_response_to_a_write_needs_no_request() -> None:
    for labels in ({}, LABELS):
        informers = Informers()
        informers.cluster.observe(SECRET, a_secret(1, "one", **labels))
        assert await informers.value() == "one"
        assert informers.server.requests == []


async def test_a_deleted_object_is_not_read_from_its_content() -> None:
    informers = Informers()
    observe(informers, a_secret(1, "one", **LABELS), content=True)
    informers.metadata._store.remove(Key("ns", "s"), version=2)
    assert await informers.cluster.read(SECRET, Key("ns", "s")) is None
    assert informers.server.requests == []


def test_without_labels_there_is_one_informer_per_kind() -> None:
    cluster = Cluster(Client(OneSecret()))
    cluster.informer(SECRET, WatchScope(metadata_only=True))
    assert len(cluster.informers) == 1
