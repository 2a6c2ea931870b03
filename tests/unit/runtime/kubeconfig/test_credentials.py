import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cobaltcore.runtime import certificates, errors, kubeconfig
from cobaltcore.runtime.timestamps import timestamp
from cobaltcore.runtime.transport import Credentials, Identity
from tests.support.fake_clock import FakeClock
from tests.support.kubeconfigs import EXEC_V1, a_kubeconfig, a_plugin, runs

PATH = {"PATH": "/usr/bin:/bin"}


def credentials(
    directory: Path, user: dict[str, Any], *, clock: FakeClock | None = None
) -> Credentials:
    path = a_kubeconfig(directory / "config", user=user)
    found = kubeconfig.load(path, environ=PATH, clock=clock).credentials
    assert found is not None
    return found


def an_exec(plugin: Path, **fields: Any) -> dict[str, Any]:
    spec = {"apiVersion": EXEC_V1, "command": str(plugin), "interactiveMode": "Never"}
    return {"exec": spec | fields}


def token(identity: Identity) -> str:
    return dict(identity.headers)["Authorization"].removeprefix("Bearer ")


async def test_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    found = credentials(tmp_path, {"tokenFile": str(file)})
    first = await found.identity()
    assert await found.identity() is first

    file.write_text("second")

    assert token(await found.identity()) == "second"


async def test_token_file_that_vanishes_leaves_the_old_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    found = credentials(tmp_path, {"tokenFile": str(file)})

    file.unlink()
    assert token(await found.identity()) == "one"

    file.write_text("two")
    assert token(await found.identity()) == "two"


async def test_rotated_client_certificate_files_make_new_tls_settings(tmp_path: Path) -> None:
    certificate, key = tmp_path / "a.crt", tmp_path / "a.key"
    now = datetime(2026, 3, 1, tzinfo=UTC)
    certificates.write(certificates.authority("a", now=now), certificate=certificate, key=key)
    found = credentials(tmp_path, {"client-certificate": str(certificate), "client-key": str(key)})
    first = await found.identity()

    certificates.write(certificates.authority("b", now=now), certificate=certificate, key=key)

    second = await found.identity()
    assert second.ssl is not None
    assert second.ssl is not first.ssl


@pytest.mark.parametrize("version", [EXEC_V1, "client.authentication.k8s.io/v1beta1"])
async def test_plugin_gives_a_token(tmp_path: Path, version: str) -> None:
    plugin = a_plugin(tmp_path / "plugin", {"token": "abc"}, version=version)
    found = credentials(tmp_path, an_exec(plugin, apiVersion=version))

    assert token(await found.identity()) == "abc"
    assert runs(plugin) == [
        {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    ]


async def test_plugin_runs_once_for_many_requests_at_a_time(tmp_path: Path) -> None:
    plugin = a_plugin(tmp_path / "plugin", {"token": "abc"})
    found = credentials(tmp_path, an_exec(plugin))

    identities = await asyncio.gather(*(found.identity() for _ in range(20)))

    assert len({id(each) for each in identities}) == 1
    assert len(runs(plugin)) == 1


async def test_plugin_runs_again_after_expiry(tmp_path: Path) -> None:
    clock = FakeClock()
    expiry = timestamp(clock.now().replace(hour=1))
    plugin = a_plugin(tmp_path / "plugin", {"token": "abc", "expirationTimestamp": expiry})
    found = credentials(tmp_path, an_exec(plugin), clock=clock)

    await found.identity()
    await clock.advance(3599)
    await found.identity()
    assert len(runs(plugin)) == 1

    await clock.advance(1)
    await found.identity()
    assert len(runs(plugin)) == 2


async def test_plugin_runs_once_after_many_refusals_of_one_token(tmp_path: Path) -> None:
    plugin = a_plugin(tmp_path / "plugin", {"token": "abc"})
    found = credentials(tmp_path, an_exec(plugin))
    refused = await found.identity()

    for _ in range(5):
        found.rejected(refused)
        assert await found.identity() is not refused

    assert len(runs(plugin)) == 2


async def test_plugin_sees_arguments_environment_and_cluster(tmp_path: Path) -> None:
    plugin = a_plugin(
        tmp_path / "plugin", {"token": "abc"}, shell=f'echo "$1 $REGION" > {tmp_path}/seen'
    )
    user = an_exec(
        plugin,
        args=["login"],
        env=[{"name": "REGION", "value": "north"}],
        provideClusterInfo=True,
    )
    found = credentials(tmp_path, user)

    await found.identity()

    assert (tmp_path / "seen").read_text() == "login north\n"
    assert runs(plugin)[0]["spec"]["cluster"] == {"server": "https://127.0.0.1:6443"}


async def test_plugin_with_a_relative_path_is_next_to_the_file(tmp_path: Path) -> None:
    a_plugin(tmp_path / "plugin", {"token": "abc"})

    found = credentials(tmp_path, an_exec(Path("plugin"), command="./plugin"))

    assert token(await found.identity()) == "abc"


async def test_missing_plugin_shows_its_install_hint(tmp_path: Path) -> None:
    found = credentials(
        tmp_path, an_exec(Path("no-such-plugin"), installHint="get it from your administrator\n")
    )

    with pytest.raises(errors.ConfigError) as raised:
        await found.identity()

    expected = f"user lab in {tmp_path}/config: the exec plugin no-such-plugin is not installed"
    assert raised.value.message == expected
    assert raised.value.hint == "get it from your administrator"


async def test_failing_plugin_speaks_to_the_user_itself(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plugin = a_plugin(tmp_path / "plugin", {}, shell="echo 'session expired' >&2; exit 3")
    found = credentials(tmp_path, an_exec(plugin))

    with pytest.raises(errors.ConfigError, match="failed with exit code 3"):
        await found.identity()

    assert capfd.readouterr().err == "session expired\n"


@pytest.mark.parametrize(
    ("status", "shell", "message"),
    [
        ({}, "", "printed neither a token nor a client certificate"),
        ({"token": "abc"}, "echo words; exit 0", "printed no ExecCredential"),
        (
            {"clientCertificateData": "x", "clientKeyData": "y"},
            "",
            "printed a client certificate and key that do not match",
        ),
        ({"token": "abc", "expirationTimestamp": "tomorrow"}, "", "printed no ExecCredential"),
    ],
)
async def test_plugin_that_prints_nonsense_is_named(
    tmp_path: Path, status: dict[str, Any], shell: str, message: str
) -> None:
    plugin = a_plugin(tmp_path / "plugin", status, shell=shell)
    found = credentials(tmp_path, an_exec(plugin))

    with pytest.raises(errors.ConfigError, match=message) as raised:
        await found.identity()

    assert "abc" not in raised.value.message


async def test_plugin_of_another_version_is_refused(tmp_path: Path) -> None:
    plugin = a_plugin(tmp_path / "plugin", {"token": "abc"}, version="v2")
    found = credentials(tmp_path, an_exec(plugin))

    with pytest.raises(errors.ConfigError, match="printed ExecCredential of v2"):
        await found.identity()


async def test_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobaltcore.runtime.auth.EXEC_TIMEOUT_SECONDS", 0.2)
    plugin = a_plugin(tmp_path / "plugin", {}, shell="exec sleep 600")
    found = credentials(tmp_path, an_exec(plugin))

    with pytest.raises(errors.ConfigError, match="did not finish"):
        await found.identity()
