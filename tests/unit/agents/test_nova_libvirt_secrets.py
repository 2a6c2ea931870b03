"""`cobalt-agent nova libvirt-secrets`, with a fake of libvirt."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

AGENT = "cobaltcore.agents.nova.libvirt_secrets"


class Connection:
    """A libvirt that keeps secrets in memory."""

    def __init__(self) -> None:
        self.secrets: dict[str, bytes] = {}
        self.alive = True

    def isAlive(self) -> bool:  # noqa: N802 libvirt's name
        return self.alive

    def listSecrets(self) -> list[str]:  # noqa: N802 libvirt's name
        return list(self.secrets)

    def secretDefineXML(self, xml: str, _: int) -> Any:  # noqa: N802 libvirt's name
        uuid = xml.partition("<uuid>")[2].partition("</uuid>")[0]

        class Secret:
            def setValue(_self, value: bytes, _: int) -> None:  # noqa: N802, N805
                self.secrets[uuid] = value

        return Secret()


class Libvirt:
    """The module, whose daemon can be started again."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []

    def open(self, _: str) -> Connection:
        self.connections.append(Connection())
        return self.connections[-1]


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> Libvirt:
    fake = Libvirt()
    module = ModuleType("libvirt")
    vars(module).update(open=fake.open, libvirtError=ConnectionError, virConnect=Connection)
    monkeypatch.setitem(sys.modules, "libvirt", module)
    monkeypatch.delitem(sys.modules, AGENT, raising=False)
    return fake


def test_keys_are_set_again_when_libvirt_was_restarted(libvirt: Libvirt, tmp_path: Path) -> None:
    keyring = tmp_path / "keyring"
    keyring.write_text("[client.nova]\nkey = c2VjcmV0\n")
    secrets = importlib.import_module(AGENT).Secrets([f"id:nova:{tmp_path}/none,{keyring}"])
    assert secrets.sync()
    libvirt.connections[0].alive = False
    assert secrets.sync()
    assert [each.secrets for each in libvirt.connections] == [{"id": b"secret"}] * 2


def test_a_renewed_key_is_set(libvirt: Libvirt, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("b2xk")
    secrets = importlib.import_module(AGENT).Secrets([f"id:nova:{key}"])
    assert secrets.sync()
    key.write_text("bmV3")
    assert secrets.sync()
    (connection,) = libvirt.connections
    assert connection.secrets == {"id": b"new"}


def test_a_libvirt_that_does_not_answer_is_not_ready(
    libvirt: Libvirt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agent = importlib.import_module(AGENT)
    monkeypatch.setattr(agent.readiness, "DIRECTORY", tmp_path)

    def refuse(_: str) -> Connection:
        raise ConnectionError("no socket")

    monkeypatch.setattr(agent.libvirt, "open", refuse)
    agent.report(is_synced=agent.Secrets([]).sync())
    assert agent.readiness_problem([]) is not None
    monkeypatch.setattr(agent.libvirt, "open", libvirt.open)
    agent.report(is_synced=agent.Secrets([]).sync())
    assert agent.readiness_problem([]) is None
