import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cobaltcore.runtime import certificates, kubeconfig
from cobaltcore.runtime.transport import Connection, Headers
from tests.support.kubeconfigs import a_kubeconfig, encoded

PAIR = certificates.authority("someone", now=datetime(2026, 3, 1, tzinfo=UTC))


async def headers(connection: Connection) -> Headers:
    assert connection.credentials is not None
    return (await connection.credentials.identity()).headers


def a_pod(directory: Path) -> Path:
    directory.mkdir()
    (directory / "ca.crt").write_bytes(PAIR.certificate)
    (directory / "token").write_text("pod-token\n")
    (directory / "namespace").write_text("cobalt-system")
    return directory


def a_home(directory: Path, server: str) -> dict[str, str]:
    (directory / ".kube").mkdir(parents=True)
    a_kubeconfig(directory / ".kube" / "config", cluster={"server": server})
    return {"HOME": str(directory)}


def test_named_file_counts_before_the_environment(tmp_path: Path) -> None:
    named = a_kubeconfig(tmp_path / "named", cluster={"server": "https://named"})
    other = a_kubeconfig(tmp_path / "other", cluster={"server": "https://other"})

    assert kubeconfig.load(named, environ={"KUBECONFIG": str(other)}).server == "https://named"


def test_environment_counts_before_the_pod(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config", cluster={"server": "https://file"})
    environ = {"KUBECONFIG": str(path), "KUBERNETES_SERVICE_HOST": "10.96.0.1"}

    connection = kubeconfig.load(environ=environ, service_account=a_pod(tmp_path / "pod"))

    assert connection.server == "https://file"


async def test_pod_counts_before_the_home_directory(tmp_path: Path) -> None:
    environ = a_home(tmp_path / "home", "https://home") | {
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "8443",
    }

    connection = kubeconfig.load(environ=environ, service_account=a_pod(tmp_path / "pod"))

    assert connection.server == "https://10.96.0.1:8443"
    assert connection.namespace == "cobalt-system"
    assert await headers(connection) == (("Authorization", "Bearer pod-token"),)


def test_pod_on_ipv6_gets_brackets(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1"}

    connection = kubeconfig.load(environ=environ, service_account=a_pod(tmp_path / "pod"))

    assert connection.server == "https://[fd00::1]:443"


def test_home_directory_is_the_last_resort(tmp_path: Path) -> None:
    environ = a_home(tmp_path / "home", "https://home")

    assert kubeconfig.load(environ=environ).server == "https://home"


def test_several_files_are_read_as_one_and_the_first_wins(tmp_path: Path) -> None:
    one = a_kubeconfig(tmp_path / "one", name="a", cluster={"server": "https://one"})
    two = a_kubeconfig(tmp_path / "two", name="a", cluster={"server": "https://two"})
    three = a_kubeconfig(tmp_path / "three", name="b", cluster={"server": "https://three"})
    environ = {"KUBECONFIG": f"{one}:{tmp_path}/missing::{two}:{three}"}

    assert kubeconfig.load(environ=environ).server == "https://one"
    assert kubeconfig.load(context="b", environ=environ).server == "https://three"


async def test_relative_paths_start_from_their_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "token").write_text("abc")
    (tmp_path / "sub" / "ca.crt").write_bytes(PAIR.certificate)
    path = a_kubeconfig(
        tmp_path / "sub" / "config",
        cluster={"certificate-authority": "ca.crt"},
        user={"tokenFile": "token"},
    )

    connection = kubeconfig.load(path, environ={})

    assert await headers(connection) == (("Authorization", "Bearer abc"),)
    assert isinstance(connection.ssl, ssl.SSLContext)
    assert connection.ssl.cert_store_stats()["x509_ca"] == 1


async def test_client_certificate_from_data_is_in_the_tls_settings(tmp_path: Path) -> None:
    user = {
        "client-certificate-data": encoded(PAIR.certificate),
        "client-key-data": encoded(PAIR.key),
    }

    connection = kubeconfig.load(a_kubeconfig(tmp_path / "config", user=user), environ={})

    assert connection.credentials is not None
    identity = await connection.credentials.identity()
    assert identity.ssl is not None
    assert identity.headers == ()


def test_insecure_server_is_not_verified(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config", cluster={"insecure-skip-tls-verify": True})

    connection = kubeconfig.load(path, environ={})

    assert isinstance(connection.ssl, ssl.SSLContext)
    assert connection.ssl.verify_mode == ssl.CERT_NONE


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "abc"}, (("Authorization", "Bearer abc"),)),
        (
            {"as": "jane", "as-groups": ["dev", "ops"], "as-user-extra": {"team": ["x", "y"]}},
            (
                ("Impersonate-User", "jane"),
                ("Impersonate-Group", "dev"),
                ("Impersonate-Group", "ops"),
                ("Impersonate-Extra-team", "x"),
                ("Impersonate-Extra-team", "y"),
            ),
        ),
    ],
)
async def test_user_becomes_headers(
    tmp_path: Path, user: dict[str, Any], expected: Headers
) -> None:
    path = a_kubeconfig(tmp_path / "config", user=user)

    assert await headers(kubeconfig.load(path, environ={})) == expected


def test_context_sets_namespace_server_name_and_proxy(tmp_path: Path) -> None:
    context = {"cluster": "lab", "user": "lab", "namespace": "openstack"}
    path = a_kubeconfig(
        tmp_path / "config",
        cluster={"tls-server-name": "kubernetes", "proxy-url": "http://127.0.0.1:3128"},
        contexts=[{"name": "lab", "context": context}],
    )

    connection = kubeconfig.load(path, environ={})

    assert connection.namespace == "openstack"
    assert connection.server_name == "kubernetes"
    assert connection.proxy == "http://127.0.0.1:3128"
