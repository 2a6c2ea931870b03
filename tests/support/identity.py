"""What tests of K-ORC do as a user, on both sides: objects in the cluster, resources in Keystone."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import jsonschema

from cobaltcore.api.foreign.kubernetes import EVENT, SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope
from cobaltlab.korc import clouds, keystone
from cobaltlab.korc.keystone import Keystone
from cobaltlab.korc.reconciler import DRIFT
from cobaltlab.providers import korc
from cobaltlab.providers.provider import Provider
from tests.support.faults import Crash, CrashPoint
from tests.support.keystone import KeystoneHarness
from tests.support.operating import eventually, read
from tests.support.providers import an_object
from tests.support.real_schemas import real_schema

CLOUD = {"cloudName": "openstack", "secretName": "openstack-clouds"}
SOON = timedelta(milliseconds=200)
WAIT_SECONDS = 180


def provider(
    namespace: str, *, connect: keystone.Connect = keystone.connect, import_poll: timedelta = SOON
) -> Provider:
    """K-ORC for one namespace, impatient when it waits for an import."""

    controllers = partial(
        korc.controllers, namespace=namespace, connect=connect, import_poll=import_poll
    )
    return Provider(korc.PROVIDER.name, korc.PROVIDER.kinds, controllers)


@dataclass(frozen=True, slots=True)
class Report:
    """What an object reports of itself."""

    available: str = ""
    progressing: str = ""
    reason: str = ""
    message: str = ""
    id: str = ""
    resource: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of K-ORC in a namespace of its own, and an administrator of Keystone."""

    client: Client
    namespace: str
    server: KeystoneHarness
    admin: Keystone

    # --- the cluster ------------------------------------------------------------------------

    async def credentials(self, text: str = "", *, name: str = "openstack-clouds") -> None:
        """Put a clouds.yaml into a Secret, the administrator's by default."""
        await self.secret(name, {"clouds.yaml": text or self.server.clouds_yaml()})

    async def secret(self, name: str, data: Mapping[str, str]) -> None:
        """Make a Secret, or give it other content."""
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        key = Key(self.namespace, name)
        if await read(self.client, SECRET, key) is not None:
            await self.client.patch(SECRET, key, {"data": encoded})
            return
        meta = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded}
        await self.client.create(SECRET, body)

    async def managed(self, kind: Kind, name: str, /, **resource: Any) -> Object:
        """Ask for a resource; other parts of the spec go into `spec`."""
        more = resource.pop("spec", {})
        spec = {"cloudCredentialsRef": CLOUD, "resource": resource, **more}
        spec.setdefault("managementPolicy", "managed")
        return await self.client.create(kind, an_object(kind, self.key(name), spec))

    async def imported(self, kind: Kind, name: str, /, *, id: str = "", **filter_: Any) -> Object:  # noqa: A002
        """Import a resource by id or by filter."""
        more = filter_.pop("spec", {})
        what = {"id": id} if id else {"filter": filter_}
        spec = {
            "cloudCredentialsRef": CLOUD,
            "managementPolicy": "unmanaged",
            "import": what,
            **more,
        }
        return await self.client.create(kind, an_object(kind, self.key(name), spec))

    async def change(self, kind: Kind, name: str, /, **resource: Any) -> None:
        """Ask for something else."""
        await self.client.patch(kind, self.key(name), {"spec": {"resource": resource}})

    async def delete(self, kind: Kind, name: str) -> None:
        """Delete an object."""
        await self.client.delete(kind, self.key(name))

    async def report(self, kind: Kind, name: str) -> Report:
        """The status of an object; empty for an older generation or a missing object."""
        found = await read(self.client, kind, self.key(name))
        if found is None:
            return Report()
        status = found.get("status") or {}
        report = {each["type"]: each for each in status.get("conditions") or ()}
        progressing = report.get("Progressing")
        generation = found["metadata"]["generation"]
        if progressing is None or progressing["observedGeneration"] != generation:
            return Report()
        check_status(kind, status)
        return Report(
            report["Available"]["status"],
            progressing["status"],
            progressing["reason"],
            progressing["message"],
            status.get("id", ""),
            status.get("resource"),
        )

    async def exists(self, kind: Kind, name: str) -> bool:
        """Whether there is such an object."""
        return await read(self.client, kind, self.key(name)) is not None

    async def available(self, kind: Kind, name: str) -> Report:
        """Wait until an object is in order."""

        async def check() -> bool:
            report = await self.report(kind, name)
            return (report.available, report.progressing) == ("True", "False")

        await self.eventually(check, kind, name, "available")
        return await self.report(kind, name)

    async def reports(self, kind: Kind, name: str, message: str, *, reason: str = "") -> Report:
        """Wait until an object's message has these words in it."""

        async def check() -> bool:
            report = await self.report(kind, name)
            return message in report.message and reason in report.reason

        await self.eventually(check, kind, name, f"saying {message!r}")
        return await self.report(kind, name)

    async def gone(self, kind: Kind, name: str) -> None:
        """Wait until an object is deleted."""

        async def check() -> bool:
            return not await self.exists(kind, name)

        await self.eventually(check, kind, name, "gone")

    async def eventually(self, check: Any, kind: Kind, name: str, what: str) -> None:
        """Wait, and fail with what the object reports instead."""
        try:
            await eventually(check, what, seconds=WAIT_SECONDS)
        except AssertionError:
            found = await read(self.client, kind, self.key(name)) or {}
            report = found.get("status")
            raise AssertionError(f"{kind.kind} {name} is not {what}: {report}") from None

    async def repairs(self, kind: Kind) -> list[str]:
        """Wait for events about drift; each names one repair of an object of the kind."""
        found: list[str] = []

        async def check() -> bool:
            scope = WatchScope(namespace=self.namespace)
            found[:] = [
                each["note"]
                async for page, _ in self.client.list_pages(EVENT, scope)
                for each in page
                if each["reason"] == DRIFT and each["regarding"]["kind"] == kind.kind
            ]
            return bool(found)

        await eventually(check, f"drift of {kind.kind} is reported", seconds=WAIT_SECONDS)
        return found

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    # --- Keystone ---------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """A name that no other test uses in the one Keystone."""
        return f"{name}-{self.namespace.rpartition('-')[2]}"

    async def get(self, path: str) -> dict[str, Any] | None:
        """One resource by its path, or None."""
        try:
            (found,) = (await self.admin.request("GET", path)).values()
        except keystone.NotFound:
            return None
        return dict(found)

    async def make(self, collection: str, **attributes: Any) -> dict[str, Any]:
        """Make something in Keystone behind K-ORC's back."""
        member = collection.removesuffix("s")
        answer = await self.admin.request("POST", f"/{collection}", body={member: attributes})
        return dict(answer[member])

    async def alter(self, path: str, **attributes: Any) -> None:
        """Change something in Keystone behind K-ORC's back."""
        member = path.split("/")[-2].removesuffix("s")
        await self.admin.request("PATCH", path, body={member: attributes})

    async def destroy(self, path: str) -> None:
        """Remove something from Keystone behind K-ORC's back."""
        await self.admin.request("DELETE", path)

    async def named(self, collection: str, name: str) -> list[dict[str, Any]]:
        """All resources of that name."""
        return await self.admin.list(f"/{collection}", collection, {"name": name})

    async def logs_in(self, user_id: str, password: str) -> bool:
        """Whether a user's password is this one."""
        login = clouds.as_user(self.admin.cloud, user_id=user_id, password=password)
        return await self.admin.accepts(login)

    async def accepts_credential(self, id_: str, secret: str) -> bool:
        """Whether an application credential can be used."""
        login = clouds.as_application_credential(self.admin.cloud, id_=id_, secret=secret)
        return await self.admin.accepts(login)


def check_status(kind: Kind, status: Mapping[str, Any]) -> None:
    """Validate a status against the schema of the real K-ORC."""
    schema = real_schema(kind)
    if schema is not None:
        jsonschema.Draft202012Validator(schema["properties"]["status"]).validate(status)


@asynccontextmanager
async def identity(
    client: Client, namespace: str, harness: KeystoneHarness
) -> AsyncIterator[Identity]:
    """A client of both sides."""
    data = {"clouds.yaml": harness.clouds_yaml()}
    cloud = clouds.read(data, "openstack", secret="admin")
    async with keystone.connect(cloud) as transport:
        admin = Keystone(transport, keystone.Login(cloud, SystemClock()))
        yield Identity(client, namespace, harness, admin)


class CrashingTransport:
    """Dies at the n-th call to Keystone, before it is sent or after it was carried out."""

    def __init__(
        self, inner: keystone.Transport, point: CrashPoint, calls: list[keystone.Request]
    ) -> None:
        self._inner = inner
        self._point = point
        self._calls = calls

    async def send(self, call: keystone.Request) -> keystone.Response:
        if len(self._calls) >= self._point.call:
            raise Crash
        self._calls.append(call)
        dies = len(self._calls) == self._point.call
        if dies and self._point.when == "before":
            raise Crash
        answer = await self._inner.send(call)
        if dies:
            raise Crash
        return answer


def crashing(point: CrashPoint) -> keystone.Connect:
    """Connections to Keystone, the process dies over one of their calls."""
    calls: list[keystone.Request] = []

    @asynccontextmanager
    async def connect(cloud: clouds.Cloud) -> AsyncIterator[keystone.Transport]:
        async with keystone.connect(cloud) as transport:
            yield CrashingTransport(transport, point, calls)

    return connect


def counted(
    calls: list[keystone.Request],
    *,
    before: Callable[[keystone.Request], Awaitable[None]] | None = None,
) -> keystone.Connect:
    """Connections to Keystone whose calls are written down; something may happen before each."""

    class CountingTransport:
        def __init__(self, inner: keystone.Transport) -> None:
            self._inner = inner

        async def send(self, call: keystone.Request) -> keystone.Response:
            calls.append(call)
            if before is not None:
                await before(call)
            return await self._inner.send(call)

    @asynccontextmanager
    async def connect(cloud: clouds.Cloud) -> AsyncIterator[keystone.Transport]:
        async with keystone.connect(cloud) as transport:
            yield CountingTransport(transport)

    return connect
