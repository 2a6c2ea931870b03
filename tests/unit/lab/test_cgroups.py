from pathlib import Path

import pytest

from cobaltcore.lab import cgroups


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A tree as version 1 has it, with the unified hierarchy beside the controllers."""
    for name in (*cgroups.CONTROLLERS, "systemd", "unified"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    for name in ("cpuset.cpus", "cpuset.mems"):
        (tmp_path / "cpuset" / name).write_text("0-1\n")
    return tmp_path


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").touch()
    return tmp_path


def test_a_mixed_machine_has_one_hierarchy_per_controller(mixed: Path) -> None:
    found = cgroups.find(mixed)
    assert not found.unified
    assert {root.name for root in found.roots} == {*cgroups.CONTROLLERS, "systemd", "unified"}


def test_two_names_of_one_hierarchy_count_once(mixed: Path) -> None:
    (mixed / "cpu,cpuacct").symlink_to("cpu")
    assert len(cgroups.find(mixed).roots) == len(cgroups.CONTROLLERS) + 2


def test_a_unified_machine_has_one_hierarchy(unified: Path) -> None:
    assert cgroups.find(unified) == cgroups.Hierarchies((unified,), unified=True)


def test_missing_controllers_are_named(mixed: Path) -> None:
    (mixed / "memory" / "cgroup.procs").unlink()
    assert cgroups.missing_controllers(mixed) == ["memory"]


def test_missing_controllers_of_a_unified_machine_are_named(unified: Path) -> None:
    assert cgroups.missing_controllers(unified) == []
    (unified / "cgroup.controllers").write_text("cpu io\n")
    assert cgroups.missing_controllers(unified) == ["cpuset", "memory", "pids"]


def test_a_new_group_exists_everywhere(mixed: Path) -> None:
    cgroups.create(cgroups.find(mixed), "cobaltcore/lab/node/system")
    assert all((each / "cobaltcore/lab/node/system").is_dir() for each in mixed.iterdir())


def test_a_new_group_of_a_unified_machine_gets_the_controllers_that_there_are(
    unified: Path,
) -> None:
    hierarchies = cgroups.find(unified)
    cgroups.create(hierarchies, "cobaltcore")
    assert (unified / "cgroup.subtree_control").read_text() == "+cpu +cpuset +memory +pids +io"
    (unified / "cobaltcore/cgroup.controllers").write_text("cpu cpuset memory pids\n")
    cgroups.create(hierarchies, "cobaltcore/lab")
    delegated = (unified / "cobaltcore/cgroup.subtree_control").read_text()
    assert delegated == "+cpu +cpuset +memory +pids"


def test_processes_of_all_hierarchies_and_depths_are_found(mixed: Path) -> None:
    hierarchies = cgroups.find(mixed)
    cgroups.create(hierarchies, "cobaltcore/lab/node/system")
    (mixed / "cpu/cobaltcore/lab/cgroup.procs").write_text("7\n")
    (mixed / "pids/cobaltcore/lab/node/system/cgroup.procs").write_text("8\n9\n0\n")
    assert cgroups.processes(hierarchies, "cobaltcore/lab") == {7, 8, 9}
    assert cgroups.processes(hierarchies, "cobaltcore/other") == set()


def test_removal_tells_when_something_is_busy(mixed: Path) -> None:
    hierarchies = cgroups.find(mixed)
    cgroups.create(hierarchies, "cobaltcore/lab/node")
    for each in mixed.glob("cpuset/**/cpuset.*"):
        if "cobaltcore" in each.parts:
            each.unlink()
    busy = mixed / "cpu/cobaltcore/lab/node/busy"
    busy.touch()
    assert not cgroups.remove(hierarchies, "cobaltcore/lab")
    assert cgroups.instances(hierarchies) == {"lab"}
    busy.unlink()
    assert cgroups.remove(hierarchies, "cobaltcore/lab")
    cgroups.remove_top(hierarchies)
    assert list(mixed.glob("*/cobaltcore")) == []


def test_a_favoured_group_has_a_multiple_of_its_share(mixed: Path) -> None:
    found = cgroups.find(mixed)
    cgroups.create(found, "cobaltcore/lab")
    setting = mixed / "cpu/cobaltcore/lab/cpu.shares"
    setting.touch()
    cgroups.favour(found, "cobaltcore/lab", 3)
    assert setting.read_text() == "3072"


def test_a_favoured_group_of_a_unified_machine_has_a_weight(unified: Path) -> None:
    setting = unified / "cobaltcore/cpu.weight"
    setting.parent.mkdir()
    setting.touch()
    cgroups.favour(cgroups.find(unified), "cobaltcore", 3)
    assert setting.read_text() == "300"
