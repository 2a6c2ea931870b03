"""The user that the API server authenticates, for every kind of credentials."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cobaltcore.runtime import certificates, errors, kubeconfig
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.meta import Kind
from cobaltcore.runtime.webhook import Endpoint, WebhookServer
from cobaltlab import pki
from tests.support.control_plane import ControlPlaneHarness
from tests.support.kubeconfigs import EXEC_V1, a_kubeconfig, a_plugin, encoded, runs

WHO_AM_I = Kind(
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    "selfsubjectreviews",
    namespaced=False,
)
SECRET = Kind("", "v1", "Secret", "secrets")
ENVIRON = {"PATH": "/usr/bin:/bin"}
NOW = datetime.now(UTC)


@pytest.fixture
def cluster(control_plane: ControlPlaneHarness) -> dict[str, Any]:
    return {"server": control_plane.url, "certificate-authority": str(control_plane.ca)}


@pytest.fixture
def issue(control_plane: ControlPlaneHarness) -> Callable[..., certificates.Pair]:
    """Issue client certificates that the API server trusts."""
    keys = pki.Pki(control_plane.directory / "pki").authority()
    authority = certificates.Pair(keys.certificate.read_bytes(), keys.key.read_bytes())

    def issue(
        user: str, *, now: datetime = NOW, groups: tuple[str, ...] = ()
    ) -> certificates.Pair:
        subject = certificates.Subject(user, organizations=groups, usages=("client",))
        return certificates.issue(authority, subject, now=now, lifetime=timedelta(days=1))

    return issue


@pytest.fixture
def accounts(control_plane: ControlPlaneHarness, namespace: str) -> str:
    """A namespace with the service accounts `one` and `two`."""
    for name in ("one", "two"):
        control_plane.kubectl("create", "serviceaccount", name, "-n", namespace)
    return namespace


@asynccontextmanager
async def connected(path: Path | None, **options: Any) -> AsyncIterator[Client]:
    connection = kubeconfig.load(path, **{"environ": ENVIRON, **options})
    client = Client(HttpTransport(connection, agent="test-auth"))
    try:
        yield client
    finally:
        await client.close()


async def who(client: Client) -> dict[str, Any]:
    review = {"apiVersion": WHO_AM_I.api_version, "kind": WHO_AM_I.kind, "metadata": {}}
    seen: dict[str, Any] = (await client.create(WHO_AM_I, review))["status"]["userInfo"]
    return seen


async def test_client_certificate_names_user_and_groups(
    tmp_path: Path, cluster: dict[str, Any], issue: Callable[..., certificates.Pair]
) -> None:
    pair = issue("jane", groups=("dev",))
    user = {
        "client-certificate-data": encoded(pair.certificate),
        "client-key-data": encoded(pair.key),
    }

    async with connected(a_kubeconfig(tmp_path / "config", cluster=cluster, user=user)) as client:
        seen = await who(client)

    assert seen["username"] == "jane"
    assert "dev" in seen["groups"]


async def test_rotated_client_certificate_files_count_for_the_next_request(
    tmp_path: Path, cluster: dict[str, Any], issue: Callable[..., certificates.Pair]
) -> None:
    certificate, key = tmp_path / "user.crt", tmp_path / "user.key"
    certificates.write(issue("jane"), certificate=certificate, key=key)
    user = {"client-certificate": "user.crt", "client-key": "user.key"}

    async with connected(a_kubeconfig(tmp_path / "config", cluster=cluster, user=user)) as client:
        assert (await who(client))["username"] == "jane"
        certificates.write(issue("joan"), certificate=certificate, key=key)
        assert (await who(client))["username"] == "joan"


async def test_error_of_a_forbidden_user_names_the_missing_right(
    tmp_path: Path, cluster: dict[str, Any], control_plane: ControlPlaneHarness
) -> None:
    async with connected(control_plane.kubeconfig("nobody")) as client:
        with pytest.raises(errors.Forbidden) as raised:
            await client.create(SECRET, {"metadata": {"namespace": "default", "name": "x"}})

    assert 'User "nobody" cannot create resource "secrets"' in raised.value.message


async def test_rotated_token_file_counts_for_the_next_request(
    tmp_path: Path, cluster: dict[str, Any], control_plane: ControlPlaneHarness, accounts: str
) -> None:
    token = tmp_path / "token"
    token.write_text(control_plane.token("one", namespace=accounts))
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user={"tokenFile": "token"})

    async with connected(path) as client:
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"
        token.write_text(control_plane.token("two", namespace=accounts))
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:two"


async def test_refused_token_file_recovers_when_it_is_replaced(
    tmp_path: Path, cluster: dict[str, Any], control_plane: ControlPlaneHarness, accounts: str
) -> None:
    token = tmp_path / "token"
    token.write_text("worn-out")
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user={"tokenFile": "token"})

    async with connected(path) as client:
        with pytest.raises(errors.Unauthorized):
            await who(client)
        token.write_text(control_plane.token("one", namespace=accounts))
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"


async def test_pod_speaks_as_its_service_account(
    tmp_path: Path, control_plane: ControlPlaneHarness, accounts: str
) -> None:
    host, port = control_plane.url.removeprefix("https://").split(":")
    (tmp_path / "ca.crt").write_bytes(control_plane.ca.read_bytes())
    (tmp_path / "token").write_text(control_plane.token("one", namespace=accounts))
    (tmp_path / "namespace").write_text(accounts)
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    async with connected(None, environ=environ, service_account=tmp_path) as client:
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"


def an_exec(plugin: Path) -> dict[str, Any]:
    return {"exec": {"apiVersion": EXEC_V1, "command": str(plugin), "interactiveMode": "Never"}}


async def test_exec_plugin_gives_a_token_once(
    tmp_path: Path, cluster: dict[str, Any], control_plane: ControlPlaneHarness, accounts: str
) -> None:
    plugin = a_plugin(
        tmp_path / "plugin", {"token": control_plane.token("one", namespace=accounts)}
    )
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user=an_exec(plugin))

    async with connected(path) as client:
        for _ in range(3):
            assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"

    assert len(runs(plugin)) == 1


async def test_exec_plugin_gives_a_client_certificate(
    tmp_path: Path, cluster: dict[str, Any], issue: Callable[..., certificates.Pair]
) -> None:
    pair = issue("jane")
    status = {
        "clientCertificateData": pair.certificate.decode(),
        "clientKeyData": pair.key.decode(),
    }
    plugin = a_plugin(tmp_path / "plugin", status)
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user=an_exec(plugin))

    async with connected(path) as client:
        assert (await who(client))["username"] == "jane"


async def test_exec_plugin_is_asked_again_within_a_request_that_was_refused(
    tmp_path: Path, cluster: dict[str, Any], control_plane: ControlPlaneHarness, accounts: str
) -> None:
    plugin = a_plugin(tmp_path / "plugin", {"token": "worn-out"})
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user=an_exec(plugin))

    async with connected(path) as client:
        with pytest.raises(errors.Unauthorized):
            await who(client)
        used = len(runs(plugin))
        a_plugin(tmp_path / "plugin", {"token": control_plane.token("one", namespace=accounts)})
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"
        assert len(runs(plugin)) == used + 1


async def test_impersonation_needs_and_uses_the_right(
    tmp_path: Path, cluster: dict[str, Any], issue: Callable[..., certificates.Pair]
) -> None:
    pair = issue("root", groups=("system:masters",))
    user = {
        "client-certificate-data": encoded(pair.certificate),
        "client-key-data": encoded(pair.key),
        "as": "jane",
        "as-groups": ["dev", "ops"],
    }

    async with connected(a_kubeconfig(tmp_path / "config", cluster=cluster, user=user)) as client:
        seen = await who(client)

    assert seen["username"] == "jane"
    assert {"dev", "ops"} <= set(seen["groups"])


async def test_expired_client_certificate_is_unauthorized(
    tmp_path: Path, cluster: dict[str, Any], issue: Callable[..., certificates.Pair]
) -> None:
    pair = issue("jane", now=NOW - timedelta(days=30))
    user = {
        "client-certificate-data": encoded(pair.certificate),
        "client-key-data": encoded(pair.key),
    }

    async with connected(a_kubeconfig(tmp_path / "config", cluster=cluster, user=user)) as client:
        with pytest.raises(errors.Unauthorized):
            await who(client)


async def test_errors_of_an_untrusted_and_an_unreachable_server_differ(
    tmp_path: Path, cluster: dict[str, Any]
) -> None:
    wrong = certificates.authority("someone-else", now=NOW).certificate
    cluster = {"server": cluster["server"], "certificate-authority-data": encoded(wrong)}

    async with connected(a_kubeconfig(tmp_path / "config", cluster=cluster)) as client:
        with pytest.raises(errors.Unreachable) as raised:
            await who(client)

    expected = f"the certificate of the API server at {cluster['server']} is not trusted"
    assert raised.value.message.startswith(expected)
    assert "certificate-authority" in raised.value.hint


@pytest.mark.parametrize(
    "options", [{"tls-server-name": "kubernetes"}, {"insecure-skip-tls-verify": True}]
)
async def test_server_under_another_name_is_accepted_with_tls_server_name(
    tmp_path: Path,
    control_plane: ControlPlaneHarness,
    cluster: dict[str, Any],
    accounts: str,
    options: dict[str, Any],
) -> None:
    user = {"token": control_plane.token("one", namespace=accounts)}
    path = a_kubeconfig(tmp_path / "config", cluster=cluster | options, user=user)

    async with connected(path) as client:
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"


async def test_server_with_another_name_is_refused(
    tmp_path: Path, cluster: dict[str, Any]
) -> None:
    path = a_kubeconfig(tmp_path / "config", cluster=cluster | {"tls-server-name": "other"})

    async with connected(path) as client:
        with pytest.raises(errors.Unreachable, match="is not trusted"):
            await who(client)


async def test_expired_server_certificate_is_named(tmp_path: Path) -> None:
    authority = certificates.authority("test", now=NOW)
    old = certificates.serving(
        authority, ["127.0.0.1"], now=NOW - timedelta(days=9), lifetime=timedelta(days=1)
    )
    certificates.write(old, certificate=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    endpoint = Endpoint(tmp_path / "tls.crt", tmp_path / "tls.key", host="127.0.0.1", port=0)
    server = WebhookServer(Webhooks(), endpoint)
    await server.start()
    cluster = {
        "server": f"https://127.0.0.1:{server.port}",
        "certificate-authority-data": encoded(authority.certificate),
    }

    async with connected(a_kubeconfig(tmp_path / "config", cluster=cluster)) as client:
        with pytest.raises(errors.Unreachable, match="is not trusted: certificate has expired"):
            await who(client)

    await server.stop()


class Proxy:
    """An HTTP proxy that tunnels what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.splitlines()[0])
        host, port = head.split()[1].split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def test_proxy_is_used_when_the_cluster_names_one(
    tmp_path: Path, control_plane: ControlPlaneHarness, cluster: dict[str, Any], accounts: str
) -> None:
    proxy = Proxy()
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    path = a_kubeconfig(
        tmp_path / "config",
        cluster=cluster | {"proxy-url": f"http://127.0.0.1:{port}"},
        user={"token": control_plane.token("one", namespace=accounts)},
    )

    async with connected(path) as client:
        assert (await who(client))["username"] == f"system:serviceaccount:{accounts}:one"

    assert proxy.asked == [f"CONNECT {control_plane.url.removeprefix('https://')} HTTP/1.1"]
    listener.close()
    await listener.wait_closed()
