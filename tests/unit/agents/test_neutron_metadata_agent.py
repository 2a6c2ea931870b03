"""`cobalt-agent neutron metadata-agent`, with a fake of Neutron itself."""

import socket
import socketserver
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cobaltcore.agents import readiness, waiting
from cobaltcore.agents.neutron import metadata_agent


class Rights:
    """A set of rights of one process."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def start(self, method: str) -> None:
        self.started.append(method)


def install(monkeypatch: pytest.MonkeyPatch, main: Callable[[], None]) -> list[Rights]:
    """Put a fake of Neutron in place; return the helpers that may be started."""
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
    monkeypatch.setattr(
        sys, "argv", ["cobalt-agent", "neutron", "metadata-agent", "/run/openvswitch/db.sock"]
    )
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


def test_a_socket_without_a_listener_accepts_no_connections(tmp_path: Path) -> None:
    path = str(tmp_path / "db.sock")
    assert not metadata_agent.accepts_connections(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        assert not metadata_agent.accepts_connections(path)
        server.listen()
        assert metadata_agent.accepts_connections(path)


def test_names_of_namespaces_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "ovnmeta-1").touch()
    metadata_agent.remove_namespaces(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_agent_is_ready_once_its_server_takes_requests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(readiness, "DIRECTORY", tmp_path)
    server_class = socketserver.ThreadingUnixStreamServer
    monkeypatch.setattr(server_class, "service_actions", server_class.service_actions)
    ready: list[bool] = []

    def is_ready() -> bool:
        return metadata_agent.readiness_problem([]) is None

    def serve() -> None:
        with server_class(str(tmp_path / "proxy"), socketserver.BaseRequestHandler) as server:
            ready.append(is_ready())
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            ready.append(waiting.wait_until(is_ready, interval=0.01, timeout=10))
            server.shutdown()
            thread.join()

    install(monkeypatch, serve)
    assert metadata_agent.run() == 0
    assert ready == [False, True]
