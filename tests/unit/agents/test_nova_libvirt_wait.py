"""`cobalt-agent nova libvirt-wait`, with a fake of libvirt."""

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PROGRAM = "cobaltcore.agents.nova.libvirt_wait"
DOMAIN = """<domain><devices>
  <disk><source protocol='rbd' name='volumes/a'><auth username='cinder'>
    <secret type='ceph' uuid='of-cinder'/></auth></source></disk>
  <disk><source><encryption format='luks'><secret type='passphrase' uuid='of-nova'/></encryption>
  </source></disk>
</devices></domain>"""


class Libvirt:
    """A libvirt with one server, whose start can fail."""

    def __init__(self) -> None:
        self.secrets: list[str] = []
        self.refusals = 0

    def open(self, _: str) -> Any:
        if self.refusals:
            self.refusals -= 1
            raise ConnectionError("no socket")
        domain = SimpleNamespace(XMLDesc=lambda _: DOMAIN)
        return SimpleNamespace(
            close=lambda: None,
            listSecrets=lambda: self.secrets,
            listAllDomains=lambda _: [domain],
        )


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> Libvirt:
    fake = Libvirt()
    module = ModuleType("libvirt")
    vars(module).update(open=fake.open, libvirtError=ConnectionError)
    monkeypatch.setitem(sys.modules, "libvirt", module)
    monkeypatch.delitem(sys.modules, PROGRAM, raising=False)
    agent: Any = importlib.import_module(PROGRAM)
    monkeypatch.setattr(agent, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(agent, "KEYS_TIMEOUT_SECONDS", 0.0)
    return fake


def wait() -> None:
    importlib.import_module(PROGRAM).main([])


def test_it_waits_until_libvirt_answers(
    libvirt: Libvirt, capsys: pytest.CaptureFixture[str]
) -> None:
    libvirt.refusals, libvirt.secrets = 2, ["of-cinder"]
    wait()
    assert capsys.readouterr().err.count("libvirt does not answer: no socket") == 2


def test_keys_of_servers_that_stay_away_are_named(
    libvirt: Libvirt, capsys: pytest.CaptureFixture[str]
) -> None:
    wait()
    assert capsys.readouterr().err == "libvirt still has no secrets of-cinder\n"
    libvirt.secrets = ["of-cinder"]
    wait()
    assert capsys.readouterr().err == ""
