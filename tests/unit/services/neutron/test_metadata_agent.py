"""The program that runs Neutron's metadata agent, with a stand-in for Neutron itself."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cobaltcore.services.neutron.programs import metadata_agent


class Rights:
    """A set of rights that somebody has for himself."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def start(self, method: str) -> None:
        self.started.append(method)


def install(monkeypatch: pytest.MonkeyPatch, main: Callable[[], None]) -> list[Rights]:
    """Put a stand-in for Neutron in place; return the helpers that may be started."""
    helpers = {name: Rights() for name in metadata_agent.HELPERS}
    neutron, context = ModuleType("neutron"), ModuleType("oslo_privsep.priv_context")
    vars(neutron)["privileged"] = SimpleNamespace(**helpers)
    vars(context)["Method"] = SimpleNamespace(FORK="fork")
    library = ModuleType("oslo_privsep")
    vars(library)["priv_context"] = context
    agents, module = (
        ModuleType("neutron.cmd.agents"),
        ModuleType("neutron.cmd.agents.ovn_metadata"),
    )
    vars(module)["main"] = main
    vars(agents)["ovn_metadata"] = module
    for each in (neutron, ModuleType("neutron.cmd"), agents, module, library, context):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    monkeypatch.setattr(sys, "argv", ["metadata_agent.py", "/run/openvswitch/db.sock"])
    return list(helpers.values())


def test_an_agent_that_gives_up_ends_its_process_with_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def give_up() -> None:
        raise RuntimeError("no schema")

    install(monkeypatch, give_up)
    assert metadata_agent.run() == 1
    assert "no schema" in capsys.readouterr().err


@pytest.mark.parametrize(("code", "expected"), [(3, 3), (None, 0)])
def test_the_agents_own_exit_code_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, code: int | None, expected: int
) -> None:
    install(monkeypatch, lambda: sys.exit(code))
    assert metadata_agent.run() == expected


def test_the_agent_runs_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    install(monkeypatch, lambda: seen.extend(sys.argv))
    assert metadata_agent.run() == 0
    assert seen == ["neutron-ovn-metadata-agent"]


def test_helpers_are_forks_of_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = install(monkeypatch, lambda: None)
    metadata_agent.run()
    assert [each.started for each in helpers] == [["fork"]] * len(metadata_agent.HELPERS)


def test_a_socket_without_a_listener_does_not_answer(tmp_path: Path) -> None:
    path = str(tmp_path / "db.sock")
    assert not metadata_agent.answers(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        assert not metadata_agent.answers(path)
        server.listen()
        assert metadata_agent.answers(path)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("tap1234567890", {"iface-id": "a"}, True),
        ("tap1234567890", {"iface-id": "a", "vm-uuid": "b"}, False),
        ("tun0", {}, False),
        ("ovn-hyperv-0", {"ovn-chassis-id": "c"}, False),
    ],
)
def test_only_ports_of_namespaces_are_unplugged(
    name: str, known: dict[str, str], expected: bool
) -> None:
    assert metadata_agent.leads_to_namespace({"name": name, "external_ids": known}) is expected


def test_names_of_namespaces_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "ovnmeta-1").touch()
    metadata_agent.forget_namespaces(tmp_path)
    assert list(tmp_path.iterdir()) == []
