from pathlib import Path

import pytest

from cobaltlab import cgroups


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """cgroup v1 with the unified hierarchy next to the controllers (hybrid)."""
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


def test_cgroup_v1_has_one_hierarchy_per_controller(mixed: Path) -> None:
    found = cgroups.detect(mixed)
    assert not found.unified
    assert {root.name for root in found.roots} == {*cgroups.CONTROLLERS, "systemd", "unified"}


def test_co_mounted_controllers_are_one_hierarchy(mixed: Path) -> None:
    (mixed / "cpu,cpuacct").symlink_to("cpu")
    assert len(cgroups.detect(mixed).roots) == len(cgroups.CONTROLLERS) + 2


def test_cgroup_v2_has_one_hierarchy(unified: Path) -> None:
    assert cgroups.detect(unified) == cgroups.Hierarchies((unified,), unified=True)


def test_missing_controllers_of_cgroup_v1_are_named(mixed: Path) -> None:
    (mixed / "memory" / "cgroup.procs").unlink()
    assert cgroups.missing_controllers(mixed) == ["memory"]


def test_missing_controllers_of_cgroup_v2_are_named(unified: Path) -> None:
    assert cgroups.missing_controllers(unified) == []
    (unified / "cgroup.controllers").write_text("cpu io\n")
    assert cgroups.missing_controllers(unified) == ["cpuset", "memory", "pids"]


def test_a_new_cgroup_exists_in_all_hierarchies(mixed: Path) -> None:
    cgroups.create(cgroups.detect(mixed), "cobaltcore/lab/node/system")
    assert all((each / "cobaltcore/lab/node/system").is_dir() for each in mixed.iterdir())


def test_a_new_cgroup_v2_enables_the_available_controllers(
    unified: Path,
) -> None:
    hierarchies = cgroups.detect(unified)
    cgroups.create(hierarchies, "cobaltcore")
    assert (unified / "cgroup.subtree_control").read_text() == "+cpu +cpuset +memory +pids +io"
    (unified / "cobaltcore/cgroup.controllers").write_text("cpu cpuset memory pids\n")
    cgroups.create(hierarchies, "cobaltcore/lab")
    delegated = (unified / "cobaltcore/cgroup.subtree_control").read_text()
    assert delegated == "+cpu +cpuset +memory +pids"


def test_processes_of_all_hierarchies_and_children_are_found(mixed: Path) -> None:
    hierarchies = cgroups.detect(mixed)
    cgroups.create(hierarchies, "cobaltcore/lab/node/system")
    (mixed / "cpu/cobaltcore/lab/cgroup.procs").write_text("7\n")
    (mixed / "pids/cobaltcore/lab/node/system/cgroup.procs").write_text("8\n9\n0\n")
    assert cgroups.processes(hierarchies, "cobaltcore/lab") == {7, 8, 9}
    assert cgroups.processes(hierarchies, "cobaltcore/other") == set()


def test_removal_returns_false_while_a_cgroup_is_busy(mixed: Path) -> None:
    hierarchies = cgroups.detect(mixed)
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


def test_weight_sets_cpu_shares_in_cgroup_v1(mixed: Path) -> None:
    found = cgroups.detect(mixed)
    cgroups.create(found, "cobaltcore/lab")
    setting = mixed / "cpu/cobaltcore/lab/cpu.shares"
    setting.touch()
    cgroups.set_weight(found, "cobaltcore/lab", 3)
    assert setting.read_text() == "3072"


def test_weight_sets_cpu_weight_in_cgroup_v2(unified: Path) -> None:
    setting = unified / "cobaltcore/cpu.weight"
    setting.parent.mkdir()
    setting.touch()
    cgroups.set_weight(cgroups.detect(unified), "cobaltcore", 3)
    assert setting.read_text() == "300"
