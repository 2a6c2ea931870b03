"""The reconciler of Vhost, User, Permission and Policy: HTTP requests to the broker they name."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import SECRET, SERVICE
from cobaltcore.api.foreign.rabbitmq import (
    CLUSTER,
    PERMISSION,
    POLICY,
    USER,
    VHOST,
    ClusterSpec,
    LocalRef,
    PermissionSpec,
    PolicySpec,
    UserSpec,
    UserStatus,
    VhostSpec,
)
from cobaltcore.engine.desired import secret
from cobaltcore.runtime import conditions
from cobaltcore.runtime.controller import Source, owner, referrers
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Struct, WatchScope, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.providers import rabbitmq_http, rabbitmq_server, serverpod
from cobaltlab.providers.failures import Blocked, Waiting
from cobaltlab.providers.provider import Context
from cobaltlab.providers.rabbitmq_http import Endpoint, Entry
from cobaltlab.providers.reconciler import is_deleting
from cobaltlab.providers.server_objects import ServerObjectReconciler

ALLOWED_NAMESPACES = "rabbitmq.com/topology-allowed-namespaces"


def management(service: Object | None) -> str:
    """URL of a broker's management API: encrypted if it can be."""
    address = serverpod.cluster_ip(service)
    if not address:
        return ""
    ports = {each["port"] for each in (service or {})["spec"]["ports"]}
    if rabbitmq_http.TLS_PORT in ports:
        return f"https://{address}:{rabbitmq_http.TLS_PORT}"
    return f"http://{address}:{rabbitmq_http.PORT}"


@dataclass(frozen=True, slots=True)
class Login:
    """An account and the Secret that holds it."""

    secret: str = ""
    username: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind and its resource in the management API."""

    kind: Kind
    spec: type[Struct]
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


class TopologyReconciler(ServerObjectReconciler):
    """Reconciles one row of the table."""

    failed_reason = "FailedCreateOrUpdate"
    observes_generation = False
    status_has_generation = True

    def __init__(self, context: Context, row: Row, *, address: serverpod.Address) -> None:
        self._row = row
        self._address = address
        kind, cluster = row.kind, context.cluster
        sources = []
        if kind is USER:
            sources = [Source(SECRET, owner(USER), WatchScope(metadata_only=True))]
        if kind is PERMISSION:
            sources = [Source(USER, referrers(cluster, kind, "user"))]
        if kind in (PERMISSION, POLICY):
            sources.append(Source(VHOST, self._in_vhost))
        super().__init__(
            context,
            kind,
            server=CLUSTER,
            finalizer=f"deletion.finalizers.{kind.plural}.{kind.group}",
            indexes={"server": _server, "secret": _secrets, "user": _user, "vhost": _vhost},
            sources=sources,
        )

    async def create(self, live: Object) -> None:
        spec: Any = manifest.spec_of(live, self._row.spec)
        login = await self._login(live, spec)
        endpoint = await self._endpoint(live)
        await rabbitmq_http.put(endpoint, self._row.entry(spec, login))
        previous = _reported_username(live)
        if self._row.kind is USER and previous not in ("", login.username):
            await rabbitmq_http.delete(endpoint, self._row.entry(spec, Login(username=previous)))
        await self._report_created(live, login)

    async def drop(self, live: Object) -> None:
        spec: Any = manifest.spec_of(live, self._row.spec)
        if isinstance(spec, VhostSpec) and spec.deletion_policy == "retain":
            return
        if _names_cluster(live):
            server = self._cluster.informer(CLUSTER).get(_server_key(live))
            if server is None or is_deleting(server):
                return
        login = await self._existing_login(live, spec)
        if login is not None:
            await rabbitmq_http.delete(await self._endpoint(live), self._row.entry(spec, login))

    async def _report_created(self, live: Object, login: Login) -> None:
        ready = Condition(type="Ready", status="True", reason="SuccessfulCreateOrUpdate")
        is_user = self._row.kind is USER and bool(login.secret)
        after = UserStatus(
            conditions=self.merged(live, [ready]),
            observed_generation=live["metadata"]["generation"],
            credentials=LocalRef(name=login.secret) if is_user else None,
            username=login.username if is_user else "",
        )
        await self.write_status(live, after)

    async def _endpoint(self, live: Object) -> Endpoint:
        if not _names_cluster(live):
            return await self._external_endpoint(live)
        key = _server_key(live)
        server = self._cluster.informer(CLUSTER).get(key)
        if server is None:
            raise Waiting(f"RabbitmqCluster {str(key)!r} does not exist")
        if not _is_allowed(live, server):
            raise Blocked(
                f"RabbitmqCluster {str(key)!r} does not allow objects of namespace "
                f"{live['metadata']['namespace']!r}",
                f"add the namespace to its annotation {ALLOWED_NAMESPACES}",
            )
        if not conditions.is_true(conditions.of(server), "AllReplicasReady"):
            raise Waiting(f"RabbitmqCluster {str(key)!r} is not ready")
        login = await self._texts(rabbitmq_server.login_key(key))
        url = self._address(self._cluster.informer(SERVICE).get(key))
        if not url:
            raise Waiting(f"Service {str(key)!r} has no address")
        authority = await self._authority(key.namespace, manifest.spec_of(server, ClusterSpec))
        return Endpoint(url, login.get("username", ""), login.get("password", ""), authority)

    async def _authority(self, namespace: str, spec: ClusterSpec) -> str:
        """The CA of the broker's certificate; empty if it speaks plain text."""
        name = rabbitmq_server.certificate(spec)
        return (await self._texts(Key(namespace, name))).get("ca.crt", "") if name else ""

    async def _external_endpoint(self, live: Object) -> Endpoint:
        """The broker that `connectionSecret` describes."""
        ref = (live["spec"].get("rabbitmqClusterReference") or {}).get("connectionSecret") or {}
        key = Key(live["metadata"]["namespace"], str(ref.get("name")))
        found = await self._texts(key)
        if not all(found.get(name) for name in ("uri", "username", "password")):
            raise Waiting(
                f"Secret {key.name!r} with the keys 'uri', 'username' and 'password' does not exist",
                "create it or correct spec.rabbitmqClusterReference.connectionSecret",
            )
        return Endpoint(found["uri"].rstrip("/"), found["username"], found["password"])

    async def _login(self, live: Object, spec: Any) -> Login:
        """The account of a User, or the one that a Permission names."""
        if isinstance(spec, UserSpec):
            return await self._user_login(live, spec)
        if not isinstance(spec, PermissionSpec):
            return Login()
        found = await self._existing_login(live, spec)
        if found is None:
            name = spec.user_reference.name if spec.user_reference else ""
            raise Waiting(f"User {name!r} does not exist or has no credentials yet")
        return found

    async def _user_login(self, live: Object, spec: UserSpec) -> Login:
        """The credentials Secret: a copy of the imported one, or generated once."""
        key = _login_key(key_of(live))
        imported_secret = spec.import_credentials_secret
        values = {"username": secrets.token_urlsafe(24), "password": secrets.token_urlsafe(24)}
        if imported_secret is not None:
            imported = await self._texts(Key(key.namespace, imported_secret.name))
            if not imported.get("username"):
                raise Waiting(
                    f"Secret {imported_secret.name!r} with the key 'username' does not exist",
                    "create it or correct spec.importCredentialsSecret",
                )
            values = {"username": imported["username"], "password": imported.get("password", "")}
        desired = secret.secret(key, values, labels={})
        await self._applier.apply([desired._replace(once=imported_secret is None)], owner=live)
        found = await self._texts(key)
        return Login(key.name, found.get("username", ""), found.get("password", ""))

    async def _existing_login(self, live: Object, spec: Any) -> Login | None:
        """The account as far as it is known; None if it was never created."""
        if isinstance(spec, PermissionSpec) and spec.user is not None:
            return Login(username=spec.user)
        if isinstance(spec, UserSpec):
            key = key_of(live)
        elif isinstance(spec, PermissionSpec) and spec.user_reference is not None:
            key = Key(live["metadata"]["namespace"], spec.user_reference.name)
        else:
            return Login()
        found = await self._texts(_login_key(key))
        username = found.get("username") or _reported_username(
            self._cluster.informer(USER).get(key)
        )
        return Login(username=username) if username else None

    async def _texts(self, key: Key) -> dict[str, str]:
        return secret.texts(await self._cluster.read(SECRET, key))

    def _in_vhost(self, change: Change) -> Iterable[Key]:
        spec = change.latest.get("spec") or {}
        value = f"{_server_key(change.latest)} {spec.get('name')}"
        for obj in self._cluster.informer(self._row.kind).find("vhost", value):
            yield key_of(obj)


def _reported_username(user: Object | None) -> str:
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
