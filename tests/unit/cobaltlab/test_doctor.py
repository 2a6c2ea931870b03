"""`cobalt doctor` on this machine, without a cluster."""

from pathlib import Path

import pytest

from cobaltlab import preflight
from cobaltlab.commands import doctor
from cobaltlab.preflight import Facts
from cobaltlab.statedir import StateDir

GOOD = Facts(free_bytes={}, memory_bytes=preflight.MEMORY_BYTES)


def found(
    monkeypatch: pytest.MonkeyPatch, path: Path, facts: Facts, *, running: bool
) -> dict[str, tuple[bool, str]]:
    monkeypatch.setattr(preflight, "gather", lambda directories: facts)
    listed = doctor.host_checks(StateDir("lab", path), running=running)
    return {each.name: (each.ok, each.fix) for each in listed}


def test_a_machine_that_can_run_a_lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = found(monkeypatch, tmp_path, GOOD, running=False)
    assert seen == {"machine": (True, ""), "lab": (False, "cobalt up")}


def test_each_problem_of_the_machine_has_its_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = Facts(user=1000, free_bytes={}, memory_bytes=preflight.MEMORY_BYTES)
    assert "sudo" in found(monkeypatch, tmp_path, facts, running=False)["machine"][1]


def test_memory_that_a_running_lab_has_taken_is_no_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = Facts(free_bytes={}, memory_bytes=1)
    seen = found(monkeypatch, tmp_path, facts, running=True)
    assert all(ok for ok, _ in seen.values())
