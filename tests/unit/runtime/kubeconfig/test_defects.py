from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cobaltcore.runtime import certificates, errors, kubeconfig
from tests.support.kubeconfigs import a_kubeconfig, encoded

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PAIR = certificates.authority("someone", now=NOW)
OTHER = certificates.authority("someone-else", now=NOW)


def fault_of(path: Path, *, context: str | None = None) -> errors.ConfigError:
    with pytest.raises(errors.ConfigError) as raised:
        kubeconfig.load(path, context=context, environ={})
    assert raised.value.hint
    assert "\n" not in raised.value.message
    return raised.value


def test_missing_file_is_named(tmp_path: Path) -> None:
    fault = fault_of(tmp_path / "nowhere")

    assert fault.message == f"no kubeconfig found: {tmp_path}/nowhere does not exist"
    assert "KUBECONFIG" in fault.hint


def test_directory_is_not_a_file(tmp_path: Path) -> None:
    assert fault_of(tmp_path).message == f"{tmp_path} cannot be read: Is a directory"


@pytest.mark.parametrize("content", [b"a: [1,\nb: 2", b"\xff\xfe\x00", b"a: \x01"])
def test_file_that_is_not_yaml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)

    assert fault_of(path).message.startswith(f"{path} is not YAML")


@pytest.mark.parametrize("content", ["- a\n- b\n", "words", "clusters: {}", "users: [{user: {}}]"])
def test_yaml_that_is_not_a_kubeconfig_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)

    assert fault_of(path).message.startswith(f"{path} is not a kubeconfig")


def test_missing_current_context_lists_the_contexts(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config", current_context="")

    fault = fault_of(path)

    assert fault.message == f"{path} has no current-context"
    assert "lab" in fault.hint


def test_unknown_context_lists_the_known_ones(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config")

    fault = fault_of(path, context="production")

    assert fault.message == f'{path} has no context "production"'
    assert "lab" in fault.hint


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"cluster": "gone", "user": "lab"}, 'cluster "gone" is not defined'),
        ({"cluster": "lab", "user": "gone"}, 'user "gone" is not defined'),
        ({"user": "lab"}, "cluster is not set"),
    ],
)
def test_dangling_reference_is_named(
    tmp_path: Path, context: dict[str, str], message: str
) -> None:
    path = a_kubeconfig(tmp_path / "config", contexts=[{"name": "lab", "context": context}])

    assert fault_of(path).message == f'context "lab" in {path}: {message}'


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"server": ""}, "server is not set"),
        ({"server": "127.0.0.1:6443"}, 'server "127.0.0.1:6443" is not an http or https URL'),
        (
            {"certificate-authority": "config.empty"},
            "certificate-authority is not a PEM certificate",
        ),
        ({"certificate-authority-data": "%%%"}, "certificate-authority-data is not base64"),
        (
            {"certificate-authority-data": encoded(b"no certificate")},
            "certificate-authority is not a PEM certificate",
        ),
        (
            {"certificate-authority": "ca.crt"},
            "certificate-authority DIR/ca.crt cannot be read: No such file or directory",
        ),
        ({"proxy-url": "socks5://127.0.0.1:1080"}, "proxy-url is not an http or https URL"),
    ],
)
def test_unusable_cluster_is_named(tmp_path: Path, cluster: dict[str, Any], message: str) -> None:
    (tmp_path / "config.empty").touch()
    path = a_kubeconfig(tmp_path / "config", cluster=cluster)

    expected = message.replace("DIR", str(tmp_path))
    assert fault_of(path).message == f'cluster "lab" in {path}: {expected}'


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (
            {"client-certificate-data": encoded(PAIR.certificate)},
            "client-key is not set",
        ),
        ({"client-key-data": encoded(PAIR.key)}, "client-certificate is not set"),
        ({"client-key-data": "###"}, "client-key-data is not base64"),
        (
            {
                "client-certificate-data": encoded(PAIR.certificate),
                "client-key-data": encoded(OTHER.key),
            },
            "client-certificate and client-key are not a matching PEM pair",
        ),
        (
            {"client-certificate": "jane.crt", "client-key-data": encoded(PAIR.key)},
            "client-certificate DIR/jane.crt cannot be read: No such file or directory",
        ),
        ({"tokenFile": "token"}, "the token file DIR/token cannot be read"),
        ({"tokenFile": "config.empty"}, "the token file DIR/config.empty is empty"),
        (
            {"username": "jane", "password": "secret"},
            "username and password are no longer supported by Kubernetes",
        ),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider was removed from Kubernetes"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}},
            "apiVersion client.authentication.k8s.io/v1alpha1 of the exec plugin is not supported",
        ),
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "x",
                    "interactiveMode": "Always",
                }
            },
            "the exec plugin needs a terminal (interactiveMode: Always)",
        ),
    ],
)
def test_unusable_user_is_named(tmp_path: Path, user: dict[str, Any], message: str) -> None:
    (tmp_path / "config.empty").write_text("\n")
    path = a_kubeconfig(tmp_path / "config", user=user)

    fault = fault_of(path)

    assert fault.message == f'user "lab" in {path}: {message.replace("DIR", str(tmp_path))}'
    assert "secret" not in fault.message


def test_pod_without_mounted_service_account_is_named(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}

    with pytest.raises(errors.ConfigError) as raised:
        kubeconfig.load(environ=environ, service_account=tmp_path)

    assert "ca.crt" in raised.value.message
    assert "automountServiceAccountToken" in raised.value.hint
