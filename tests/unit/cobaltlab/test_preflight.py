from pathlib import Path
from typing import Any

import pytest

from cobaltlab import preflight

PLACE = Path("/var/lib/cobaltcore")


def facts(**changes: Any) -> preflight.Facts:
    """A machine that meets all requirements, except for the changes."""
    good: dict[str, Any] = {"free_bytes": {PLACE: 10**12}, "memory_bytes": 10**11}
    return preflight.Facts(**{**good, **changes})


def test_a_suitable_machine_has_no_problem() -> None:
    assert preflight.problems(facts()) == []


@pytest.mark.parametrize(
    ("changes", "what", "fix"),
    [
        ({"system": "Darwin"}, "runs Darwin", "virtual machine"),
        ({"user": 1000}, "need root", "sudo"),
        ({"capabilities": 0}, "CAP_NET_ADMIN and CAP_SYS_ADMIN", "--privileged"),
        ({"cgroups_missing": ["memory"]}, "controllers memory are not mounted", "mount -t cgroup"),
        (
            {"cgroups_missing": ["cpuset"], "cgroups_unified": True},
            "cgroup v2 lacks the controllers cpuset",
            "subtree_control",
        ),
        ({"file_systems": frozenset()}, "no overlay file system", "modprobe overlay"),
        ({"bridge_netfilter": False}, "bridged packets", "modprobe br_netfilter"),
        ({"free_bytes": {PLACE: 10**9}}, "has 1.0 GB free", "free disk space"),
        ({"memory_bytes": 10**9}, "1.0 GB of memory", "more memory"),
        ({"missing_packages": ["runc"]}, "1 packages are not installed: runc", "--yes"),
        (
            {"low_limits": {"fs/inotify/max_user_instances": 128}},
            "fs.inotify.max_user_instances is 128",
            "sysctl -w",
        ),
        ({"taken_ports": {5000: "nginx (pid 7)"}}, "port 5000 is in use on all", "127.0.0.1"),
    ],
)
def test_each_problem_comes_with_its_fix(changes: dict[str, Any], what: str, fix: str) -> None:
    (found,) = preflight.problems(facts(**changes))
    assert what in found.what
    assert fix in found.fix


def test_all_problems_are_listed_at_once() -> None:
    bad = facts(user=1000, memory_bytes=1, missing_packages=["nftables", "runc"])
    message = str(preflight.NotReady(preflight.problems(bad)))
    assert "3 requirements are not met" in message
    assert message.count("fix: ") == 3


def test_this_machine_can_be_inspected() -> None:
    found = preflight.gather([Path("/nowhere/in/particular")])
    assert found.memory_bytes > 0
    assert list(found.free_bytes) == [Path("/nowhere/in/particular")]
