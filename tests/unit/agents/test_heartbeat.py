"""`cobalt-agent nova service` and `cobalt-agent cinder service`, with fakes of both projects."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cobaltcore.agents import heartbeat, readiness
from cobaltcore.agents.cinder import service as cinder_service
from cobaltcore.agents.nova import service as nova_service


class Driver:
    """Nova's driver of service groups: it swallows failures."""

    def __init__(self) -> None:
        self.reports = 0

    def _report_state(self, service: "NovaService") -> None:
        self.reports += 1
        service.model_disconnected = not service.database_answers


class NovaService:
    """A service whose timer is called by hand."""

    def __init__(self, *, database_answers: bool = True) -> None:
        self.servicegroup_api = SimpleNamespace(_driver=Driver())
        self.database_answers = database_answers
        self.model_disconnected = False
        self.timer: Callable[[], None] | None = None

    def start(self) -> None:
        assert nova_service.readiness_problem(["scheduler"]) is not None
        report = self.servicegroup_api._driver._report_state
        self.timer = lambda: report(self)


class CinderService:
    """The service of one backend."""

    def __init__(self, host: str, *, is_initialized: bool = True) -> None:
        self.host = host
        self.is_initialized = is_initialized
        self.manager = SimpleNamespace(is_working=lambda: self.is_initialized)
        self.model_disconnected = False
        self.timer: Callable[[], None] | None = None

    def report_state(self) -> None:
        """Nothing is written while the backend does not work."""

    def start(self) -> None:
        self.timer = self.report_state


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(readiness, "DIRECTORY", tmp_path)
    monkeypatch.setattr(sys, "argv", ["cobalt-agent"])
    return tmp_path


def install(
    monkeypatch: pytest.MonkeyPatch,
    project: str,
    component: str,
    services: list[Any],
    code: int | None = None,
) -> list[str]:
    """A project whose program starts services; return the arguments that the program gets."""
    seen: list[str] = []

    def main() -> int | None:
        seen.extend(sys.argv)
        for each in services:
            each.start()
        return code

    command = ModuleType(f"{project}.cmd.{component}")
    vars(command)["main"] = main
    module = ModuleType(f"{project}.service")
    vars(module)["Service"] = type(services[0])
    monkeypatch.setattr(type(services[0]), "start", type(services[0]).start)
    found = {each.__name__: each for each in (command, module)}
    monkeypatch.setattr(heartbeat, "importlib", SimpleNamespace(import_module=found.__getitem__))
    return seen


def test_a_program_runs_under_its_own_name_with_its_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = install(monkeypatch, "nova", "scheduler", [NovaService()], code=3)
    assert nova_service.main(["nova-scheduler", "--config-file", "/etc/nova/nova.conf"]) == 3
    assert seen == ["nova-scheduler", "--config-file", "/etc/nova/nova.conf"]


def test_nova_is_ready_with_its_first_report_which_comes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = NovaService()
    install(monkeypatch, "nova", "scheduler", [service])
    nova_service.main(["nova-scheduler"])
    assert service.servicegroup_api._driver.reports == 1
    assert nova_service.readiness_problem(["scheduler"]) is None


def test_nova_that_does_not_reach_its_database_is_not_ready_until_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = NovaService(database_answers=False)
    install(monkeypatch, "nova", "scheduler", [service])
    nova_service.main(["nova-scheduler"])
    assert nova_service.readiness_problem(["scheduler"]) is not None
    service.database_answers = True
    assert service.timer is not None
    service.timer()
    assert nova_service.readiness_problem(["scheduler"]) is None


def test_what_an_earlier_container_left_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    readiness.renew("nova-scheduler", valid_seconds=60)
    install(monkeypatch, "nova", "scheduler", [NovaService(database_answers=False)])
    nova_service.main(["nova-scheduler"])
    assert nova_service.readiness_problem(["scheduler"]) is not None


def test_cinder_volume_is_ready_when_every_backend_is_initialized(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ceph = CinderService("cinder-volume@ceph")
    nfs = CinderService("cinder-volume@nfs", is_initialized=False)
    install(monkeypatch, "cinder", "volume", [ceph, nfs])
    cinder_service.main(["cinder-volume"])
    assert cinder_service.readiness_problem(["volume", "ceph"]) is None
    assert "cinder-volume@nfs" in str(cinder_service.readiness_problem(["volume", "ceph", "nfs"]))
    nfs.is_initialized = True
    assert nfs.timer is not None
    nfs.timer()
    assert cinder_service.readiness_problem(["volume", "ceph", "nfs"]) is None


def test_cinder_without_a_backend_reports_under_its_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, "cinder", "scheduler", [CinderService("cinder-scheduler")])
    cinder_service.main(["cinder-scheduler"])
    assert cinder_service.readiness_problem(["scheduler"]) is None


@pytest.mark.parametrize("agent", ["nova", "cinder"])
def test_a_probe_loads_nothing_of_openstack(agent: str) -> None:
    module = importlib.import_module(f"cobaltcore.agents.{agent}.service")
    assert "has not done its work" in module.readiness_problem(["scheduler"])
    assert agent not in sys.modules
