"""The strict gate, and the report of health."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cobaltcore.api.foreign.rook import CephClusterStatus, CephHealth, HealthDetail
from cobaltcore.runtime.meta import Condition, Key
from cobaltlab.agents.rook import admin
from cobaltlab.ceph import daemons, health, phases

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_status(
    *,
    available: bool = True,
    osds: tuple[int, int, int] = (1, 1, 1),
    groups: dict[str, int] | None = None,
    status: str = "HEALTH_OK",
) -> dict[str, Any]:
    states = {"active+clean": 8} if groups is None else groups
    return {
        "health": {"status": status, "checks": {}},
        "mgrmap": {"available": available},
        "osdmap": dict(zip(("num_osds", "num_up_osds", "num_in_osds"), osds, strict=True)),
        "pgmap": {
            "pgs_by_state": [{"state_name": k, "count": v} for k, v in states.items()],
            "bytes_total": 10,
        },
    }


@pytest.mark.parametrize(
    ("status", "blocker"),
    [
        (a_status(available=False), "manager is not available"),
        (a_status(osds=(0, 0, 0)), "0/1 OSDs up"),
        (a_status(osds=(1, 0, 1)), "0/1 OSDs up"),
        (a_status(groups={}), "0/0 placement groups clean"),
        (a_status(groups={"unknown": 8}), "0/8 placement groups clean"),
        (a_status(groups={"active+clean": 7, "peering": 1}), "7/8 placement groups clean"),
        (a_status(status="HEALTH_ERR"), "HEALTH_ERR: "),
    ],
)
def test_the_gate_is_closed_and_names_the_reason(status: dict[str, Any], blocker: str) -> None:
    assert not admin.is_clean(status)
    assert health.blockers(status) == blocker


def test_the_gate_opens_with_warnings() -> None:
    assert admin.is_clean(a_status())
    assert admin.is_clean(a_status(status="HEALTH_WARN"))
    assert health.blockers(a_status()) == ""


def test_failed_checks_are_reported() -> None:
    said = a_status(status="HEALTH_WARN")
    said["health"]["checks"] = {
        "OSD_DOWN": {"severity": "HEALTH_WARN", "summary": {"message": "1 osds down"}}
    }
    found = health.reported("id", said)
    assert found.details == {
        "OSD_DOWN": HealthDetail(severity="HEALTH_WARN", message="1 osds down")
    }
    assert found.capacity is not None
    assert found.capacity.bytes_total == 10


def test_a_change_of_health_is_dated_once() -> None:
    well, ill = CephHealth(health="HEALTH_OK"), CephHealth(health="HEALTH_ERR")
    assert health.transition(None, well, NOW) == {}
    changed = health.transition(well, ill, NOW)
    assert changed == {"previous_health": "HEALTH_OK", "last_changed": "2026-01-01T00:00:00Z"}
    still = msgspec.structs.replace(ill, **changed)
    assert health.transition(still, ill, datetime(2027, 1, 1, tzinfo=UTC)) == changed


def test_version_is_reported_as_rook_does() -> None:
    assert health.version({"version": "ceph version 16.2.15 (618f44) pacific"}) == "16.2.15-0"
    assert health.version(None) == ""


def test_phases_keep_that_the_cluster_was_created() -> None:
    created = Condition(type="Ready", status="True", reason="ClusterCreated")
    before = CephClusterStatus(phase="Ready", conditions=[created])
    progressing = phases.progressing(daemons.OSD, "0/1 OSDs up")
    assert progressing.message == "Configuring Ceph OSDs: 0/1 OSDs up"
    assert progressing.state(before) == "Updating"
    assert progressing.state(CephClusterStatus()) == "Creating"
    assert [c.type for c in progressing.conditions(before)] == ["Progressing", "Ready"]
    assert [c.type for c in phases.CREATED.conditions(before)] == ["Ready"]


def test_what_holds_a_cluster_is_named() -> None:
    phase = phases.blocked(Key("rook", "ceph"), {"CephBlockPools": ["images", "volumes"]})
    assert phase.name == "Deleting"
    assert phase.conditions(CephClusterStatus())[0].type == "DeletionIsBlocked"
    assert "CephBlockPools: [images, volumes]" in phase.message
