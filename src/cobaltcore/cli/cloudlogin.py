"""How a client on this machine logs in to a cloud as its administrator: what a Keystone reports, and Secrets."""

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from cobaltcore.api import keystone
from cobaltcore.api.foreign.kubernetes import SECRET, SERVICE
from cobaltcore.cli import errors, listing
from cobaltcore.engine.desired import clouds, names, secret
from cobaltcore.engine.desired import service as address
from cobaltcore.runtime import errors as runtime_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object, WatchScope, key_of

OURS = f"app.kubernetes.io/part-of={names.PART_OF}"
ADMIN_PROJECT = "admin"
CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud, its administrator, and addresses of names that resolve inside the cluster."""

    namespace: str
    login: clouds.Login
    addresses: Mapping[str, str]

    def unresolved(self) -> dict[str, str]:
        """Those names that do not resolve to their address on this machine."""
        return {n: a for n, a in self.addresses.items() if a not in _resolved(n)}

    def missing(self) -> dict[str, str]:
        """Those names that do not resolve at all on this machine."""
        return {n: a for n, a in self.addresses.items() if not _resolved(n)}


async def read(client: Client, namespace: str) -> Cloud:
    """The cloud of a namespace, or the only one of the cluster."""
    found = await listing.objects(client, keystone.KIND, WatchScope(namespace=namespace))
    chosen = _only(found, namespace)
    key = key_of(chosen)
    wanted = (_sibling(key, names.admin_login(key.name)), _sibling(key, _certificate(chosen)))
    admin, certificate = [await _secret(client, each) for each in wanted]
    login = _login(chosen, admin, certificate)
    return Cloud(key.namespace, login, await addresses(client, key.namespace))


async def addresses(client: Client, namespace: str = "") -> dict[str, str]:
    """The addresses of our Services, by the names under which catalogues have them."""
    services = await listing.objects(client, SERVICE, WatchScope(namespace, OURS))
    specs = {address.host(key_of(each)): each["spec"] for each in sorted(services, key=key_of)}
    found = {name: spec.get("clusterIP") or "" for name, spec in specs.items()}
    return {name: ip for name, ip in found.items() if ip not in ("", "None")}


def require_reachable(cloud: Cloud) -> None:
    """Raise an error that names what has to be reachable, if Keystone is not."""
    url = urlsplit(cloud.login.auth_url)
    host = url.hostname or ""
    port = url.port or (443 if url.scheme == "https" else 80)
    to = cloud.addresses.get(host, "") if host in cloud.missing() else host
    try:
        socket.create_connection((to or host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        shown = f" at {to}" if to not in ("", host) else ""
        raise errors.CommandError(
            f'Keystone "{host}"{shown}, port {port}, cannot be reached from here: '
            f"{error.strerror or error}",
            hint="clients need a route to the addresses of Services, or publicEndpoint of every "
            "service in spec.services of the ControlPlane; `cobalt openrc` lists the names",
        ) from error


def _only(found: Iterable[Object], namespace: str) -> Object:
    listed = sorted(found, key=key_of)
    if len(listed) == 1:
        return listed[0]
    place = f" in namespace {namespace!r}" if namespace else ""
    if not listed:
        raise errors.CommandError(
            f"there is no Keystone{place}, so no cloud to log in to",
            hint="see what there is: cobalt status",
        )
    raise errors.CommandError(
        f"there are {len(listed)} clouds{place}",
        hint="choose one with --namespace: "
        + ", ".join(dict.fromkeys(each["metadata"]["namespace"] for each in listed)),
    )


def _certificate(obj: Object) -> str:
    """The Secret with the certificate of its endpoint, and of who signed it; empty without TLS."""
    tls = obj["spec"].get("tls") or {}
    if not tls.get("enabled"):
        return ""
    named = (tls.get("secretRef") or {}).get("name")
    return str(named or names.certificate_secret(obj["metadata"]["name"]))


def _sibling(key: Key, name: str) -> Key:
    return Key(key.namespace, name)


async def _secret(client: Client, key: Key) -> Object | None:
    if not key.name:
        return None
    try:
        return await client.get(SECRET, key)
    except runtime_errors.NotFound:
        return None


def _login(obj: Object, admin: Object | None, certificate: Object | None) -> clouds.Login:
    key, bootstrap = key_of(obj), obj["spec"].get("bootstrap") or {}
    endpoint = (obj.get("status") or {}).get("endpoint")
    url = bootstrap.get("publicEndpoint") or (f"{endpoint}/v3" if endpoint else "")
    password = secret.text(admin, "password")
    if not url or password is None:
        raise errors.CommandError(
            f"Keystone {key.name!r} in namespace {key.namespace!r} has no administrator yet",
            hint=f"find out why: cobalt why Keystone/{key.name} --namespace {key.namespace}",
        )
    return clouds.Login(
        auth_url=url,
        username=secret.text(admin, "username") or "admin",
        password=password,
        project=ADMIN_PROJECT,
        region=bootstrap.get("region") or "RegionOne",
        ca_bundle=secret.text(certificate, "ca.crt") or "",
    )


def _resolved(name: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        return set()
