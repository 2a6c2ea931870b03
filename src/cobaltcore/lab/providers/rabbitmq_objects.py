"""Vhost, User, Permission and Policy: what they ask for is kept by the broker they name."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import SECRET, SERVICE
from cobaltcore.api.foreign.rabbitmq import (
    CLUSTER,
    PERMISSION,
    POLICY,
    USER,
    VHOST,
    ClusterStatus,
    LocalRef,
    PermissionSpec,
    PolicySpec,
    UserSpec,
    UserStatus,
    VhostSpec,
)
from cobaltcore.engine.desired import secret
from cobaltcore.lab.providers import provider, rabbitmq_http, rabbitmq_server, serverpod
from cobaltcore.lab.providers.rabbitmq_http import Endpoint, Entry
from cobaltcore.lab.providers.things import Things, Waiting
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.controller import Source, owner, referrers
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Scope, Struct, key_of
from cobaltcore.runtime.store import Change

ALLOWED_NAMESPACES = "rabbitmq.com/topology-allowed-namespaces"


def management(service: Object | None) -> str:
    """Where a broker is managed."""
    address = serverpod.cluster_ip(service)
    return f"http://{address}:{rabbitmq_http.PORT}" if address else ""


@dataclass(frozen=True, slots=True)
class Login:
    """An account's name and password, and the Secret that has them."""

    secret: str = ""
    username: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind and what it means to a broker."""

    kind: Kind
    view: type[Struct]
    entry: Callable[[Any, Login], Entry]


TABLE = (
    Row(VHOST, VhostSpec, lambda spec, login: rabbitmq_http.vhost(spec)),
    Row(
        USER,
        UserSpec,
        lambda spec, login: rabbitmq_http.user(
            spec, username=login.username, password=login.password
        ),
    ),
    Row(
        PERMISSION,
        PermissionSpec,
        lambda spec, login: rabbitmq_http.permission(spec, username=login.username),
    ),
    Row(POLICY, PolicySpec, lambda spec, login: rabbitmq_http.policy(spec)),
)


class Topology(Things):
    """The controller of one kind of thing on brokers."""

    def __init__(self, setting: provider.Setting, row: Row, *, address: serverpod.Address) -> None:
        self._row = row
        self._address = address
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        kind, cluster = row.kind, setting.cluster
        sources = []
        if kind is USER:
            sources = [Source(SECRET, owner(USER), Scope(metadata_only=True))]
        if kind is PERMISSION:
            sources = [Source(USER, referrers(cluster, kind, "user"))]
        if kind in (PERMISSION, POLICY):
            sources.append(Source(VHOST, self._in_vhost))
        super().__init__(
            setting,
            kind,
            server=CLUSTER,
            finalizer=f"deletion.finalizers.{kind.plural}.{kind.group}",
            indexes={"server": _server, "secret": _secrets, "user": _user, "vhost": _vhost},
            sources=sources,
        )

    async def make(self, live: Object) -> None:
        """Put it."""
        spec: Any = manifest.spec_of(live, self._row.view)
        login = await self._login(live, spec)
        endpoint = await self._endpoint(live)
        await rabbitmq_http.put(endpoint, self._row.entry(spec, login))
        earlier = _told_username(live)
        if self._row.kind is USER and earlier not in ("", login.username):
            await rabbitmq_http.delete(endpoint, self._row.entry(spec, Login(username=earlier)))
        await self._tell(live, "", login)

    async def undo(self, live: Object) -> None:
        """Delete it; there is nothing to delete without a broker."""
        spec: Any = manifest.spec_of(live, self._row.view)
        if isinstance(spec, VhostSpec) and spec.deletion_policy == "retain":
            return
        if _names_cluster(live):
            server = self._cluster.informer(CLUSTER).get(_server_key(live))
            if server is None or server["metadata"].get("deletionTimestamp"):
                return
        login = await self._known_login(live, spec)
        if login is not None:
            await rabbitmq_http.delete(await self._endpoint(live), self._row.entry(spec, login))

    async def report(self, live: Object, problem: str) -> None:
        """Tell the one condition."""
        before = manifest.status_of(live, UserStatus)
        name = before.credentials.name if before.credentials else ""
        await self._tell(live, problem, Login(name, before.username))

    async def _tell(self, live: Object, problem: str, login: Login) -> None:
        before = manifest.status_of(live, UserStatus)
        told = Condition(type="Ready", status="True", reason="SuccessfulCreateOrUpdate")
        if problem:
            told = Condition(
                type="Ready", status="False", reason="FailedCreateOrUpdate", message=problem
            )
        is_user = self._row.kind is USER and bool(login.secret)
        after = UserStatus(
            conditions=merged(before.conditions, [told], now=self._clock.now()),
            observed_generation=live["metadata"]["generation"],
            credentials=LocalRef(name=login.secret) if is_user else None,
            username=login.username if is_user else "",
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, self._row.kind, live, built, manager=provider.MANAGER)

    async def _endpoint(self, live: Object) -> Endpoint:
        if not _names_cluster(live):
            return await self._given_endpoint(live)
        key = _server_key(live)
        server = self._cluster.informer(CLUSTER).get(key)
        if server is None:
            raise Waiting(f"RabbitmqCluster {str(key)!r} does not exist")
        if not _is_allowed(live, server):
            raise Waiting(
                f"RabbitmqCluster {str(key)!r} does not allow objects of other namespaces: "
                f"name this one in its annotation {ALLOWED_NAMESPACES}"
            )
        told = manifest.status_of(server, ClusterStatus).conditions
        if not conditions.is_true(told, "AllReplicasReady"):
            raise Waiting(f"RabbitmqCluster {str(key)!r} is not ready")
        login = await self._texts(rabbitmq_server.login_key(key))
        url = self._address(self._cluster.informer(SERVICE).get(key))
        if not url:
            raise Waiting(f"Service {str(key)!r} has no address")
        return Endpoint(url, login.get("username", ""), login.get("password", ""))

    async def _given_endpoint(self, live: Object) -> Endpoint:
        """Any broker, as a Secret describes it."""
        ref = (live["spec"].get("rabbitmqClusterReference") or {}).get("connectionSecret") or {}
        key = Key(live["metadata"]["namespace"], str(ref.get("name")))
        found = await self._texts(key)
        if not all(found.get(name) for name in ("uri", "username", "password")):
            raise Waiting(f"Secret {key.name!r} with uri, username and password does not exist")
        return Endpoint(found["uri"].rstrip("/"), found["username"], found["password"])

    async def _login(self, live: Object, spec: Any) -> Login:
        """The account that the object makes or is for."""
        if isinstance(spec, UserSpec):
            return await self._user_login(live, spec)
        if not isinstance(spec, PermissionSpec):
            return Login()
        found = await self._known_login(live, spec)
        if found is None:
            name = spec.user_reference.name if spec.user_reference else ""
            raise Waiting(f"User {name!r} does not exist or has no account yet")
        return found

    async def _user_login(self, live: Object, spec: UserSpec) -> Login:
        """The Secret of an account: a copy of the imported one, or made up once."""
        key = _login_key(key_of(live))
        given = spec.import_credentials_secret
        values = {"username": secrets.token_urlsafe(24), "password": secrets.token_urlsafe(24)}
        if given is not None:
            imported = await self._texts(Key(key.namespace, given.name))
            if not imported.get("username"):
                raise Waiting(f"Secret {given.name!r} with the key 'username' does not exist")
            values = {"username": imported["username"], "password": imported.get("password", "")}
        made = secret.secret(key, values, labels={})
        await self._applier.apply([made._replace(once=given is None)], owner=live)
        found = await self._texts(key)
        return Login(key.name, found.get("username", ""), found.get("password", ""))

    async def _known_login(self, live: Object, spec: Any) -> Login | None:
        """The account as far as it is known; None if it never was made."""
        if isinstance(spec, PermissionSpec) and spec.user is not None:
            return Login(username=spec.user)
        if isinstance(spec, UserSpec):
            key = key_of(live)
        elif isinstance(spec, PermissionSpec) and spec.user_reference is not None:
            key = Key(live["metadata"]["namespace"], spec.user_reference.name)
        else:
            return Login()
        found = await self._texts(_login_key(key))
        username = found.get("username") or _told_username(self._cluster.informer(USER).get(key))
        return Login(username=username) if username else None

    async def _texts(self, key: Key) -> dict[str, str]:
        return secret.texts(await self._cluster.read(SECRET, key))

    def _in_vhost(self, change: Change) -> Iterable[Key]:
        spec = change.latest.get("spec") or {}
        value = f"{_server_key(change.latest)} {spec.get('name')}"
        for obj in self._cluster.informer(self._row.kind).find("vhost", value):
            yield key_of(obj)


def merged(
    before: Sequence[Condition], told: Sequence[Condition], *, now: datetime
) -> list[Condition]:
    """Conditions as these operators tell them: without a generation."""
    found = conditions.merge(before, told, now=now, generation=0)
    return [msgspec.structs.replace(each, observed_generation=None) for each in found]


def _told_username(user: Object | None) -> str:
    return manifest.status_of(user, UserStatus).username if user is not None else ""


def _login_key(user: Key) -> Key:
    return Key(user.namespace, f"{user.name}-user-credentials")


def _reference(obj: Object) -> Object:
    found: Object = (obj.get("spec") or {}).get("rabbitmqClusterReference") or {}
    return found


def _names_cluster(obj: Object) -> bool:
    return bool(_reference(obj).get("name"))


def _server_key(obj: Object) -> Key:
    ref = _reference(obj)
    return Key(str(ref.get("namespace") or obj["metadata"]["namespace"]), str(ref.get("name")))


def _is_allowed(obj: Object, server: Object) -> bool:
    namespace = obj["metadata"]["namespace"]
    if namespace == server["metadata"]["namespace"]:
        return True
    annotations = server["metadata"].get("annotations") or {}
    allowed = [each.strip() for each in annotations.get(ALLOWED_NAMESPACES, "").split(",")]
    return namespace in allowed or "*" in allowed


def _server(obj: Object) -> Iterable[str]:
    yield str(_server_key(obj))


def _secrets(obj: Object) -> Iterable[str]:
    spec = obj.get("spec") or {}
    for ref in (spec.get("importCredentialsSecret"), _reference(obj).get("connectionSecret")):
        if ref:
            yield str(Key(obj["metadata"]["namespace"], str(ref.get("name"))))


def _user(obj: Object) -> Iterable[str]:
    ref = (obj.get("spec") or {}).get("userReference")
    if ref:
        yield str(Key(obj["metadata"]["namespace"], str(ref.get("name"))))


def _vhost(obj: Object) -> Iterable[str]:
    name = (obj.get("spec") or {}).get("vhost")
    if name:
        yield f"{_server_key(obj)} {name}"
