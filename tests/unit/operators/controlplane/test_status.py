"""Conditions, phase and progress of a ControlPlane."""

from typing import Any

import pytest

from cobaltcore.api import glance, keystone
from cobaltcore.api.foreign import korc, mariadb
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Kind
from tests.support.control_planes import (
    a_certified_one,
    a_control_plane,
    a_ready_one,
    conditions,
    key,
    unready,
)
from tests.support.simulation import Simulation


def status(plane: Simulation) -> Any:
    return plane.plan().status


def test_first_part_that_is_not_ready_is_named() -> None:
    assert a_certified_one().plan().verdict == Waiting(
        "Creating", "mariadb: MariaDB 'mariadb' is being created"
    )


def test_message_of_the_child_is_passed_on() -> None:
    plane = a_ready_one()
    unready(plane, mariadb.MARIADB, "mariadb", "no space left on volume")
    assert plane.plan().verdict == Waiting(
        "NotReady", "mariadb: MariaDB 'mariadb': no space left on volume"
    )


@pytest.mark.parametrize(
    ("kind", "name", "condition", "phase", "update"),
    [
        (mariadb.MARIADB, "mariadb", "InfrastructureReady", "Infrastructure", "UpdatingInfra"),
        (keystone.KIND, "keystone", "KeystoneReady", "Identity", "UpdatingKeystone"),
        (korc.DOMAIN, "default", "KORCReady", "Catalog", "UpdatingServices"),
        (glance.KIND, "glance", "ServicesReady", "Core", "UpdatingServices"),
    ],
)
def test_condition_and_phase_follow_the_part_that_is_not_ready(
    kind: Kind, name: str, condition: str, phase: str, update: str
) -> None:
    plane = a_ready_one()
    unready(plane, kind, name)
    assert (status(plane).phase, status(plane).update_phase) == (phase, update)
    first = next(each for each in conditions(plane).values() if each.status == "False")
    assert first.type == condition


def test_ready_control_plane_reports_release_and_progress() -> None:
    plane = a_ready_one()
    assert isinstance(plane.plan().verdict, Ready)
    found = status(plane)
    assert (found.phase, found.update_phase) == ("Ready", "Idle")
    assert found.installed_release == "2025.2"
    done, _, parts = found.progress.partition("/")
    assert done == parts
    assert all(each.ready for each in found.services.values())


def test_installed_release_stays_until_all_parts_have_the_new_one() -> None:
    plane = a_ready_one()
    plane.live["status"] = {"installedRelease": "2025.1"}
    unready(plane, glance.KIND, "glance")
    assert status(plane).installed_release == "2025.1"


def test_progress_counts_parts_that_are_ready() -> None:
    plane = a_control_plane()
    parts = status(plane).progress.partition("/")[2]
    assert status(plane).progress == f"0/{parts}"
    plane.apply(plane.plan())
    assert status(plane).progress == f"2/{parts}", "certificates, memcached"
    plane.apply(plane.plan())
    assert status(plane).progress == f"5/{parts}", "mariadb, rabbitmq and ovn as well"


def test_a_rollout_of_keystone_leaves_the_progress_as_it_is() -> None:
    plane = a_ready_one()
    before = status(plane).progress
    unready(plane, keystone.KIND, "keystone", "1/2 pods of 'keystone-api' ready")
    keystones = plane.objects[keystone.KIND, key("keystone")]
    keystones["status"]["conditions"].append({"type": "APIReady", "status": "True"})
    assert status(plane).progress == before
    keystones["status"]["conditions"][-1]["status"] = "False"
    done, _, whole = before.partition("/")
    assert status(plane).progress == f"{int(done) - 1}/{whole}", "only Keystone is down"


def test_generation_that_is_not_observed_is_not_ready() -> None:
    plane = a_ready_one()
    plane.objects[glance.KIND, key("glance")]["metadata"]["generation"] = 2
    assert plane.plan().verdict == Waiting(
        "NotObserved", "glance: Glance 'glance': its newest spec is not observed yet"
    )


def test_user_that_is_being_deleted_is_not_ready() -> None:
    plane = a_ready_one()
    user = plane.objects[korc.USER, key("nova-service-user")]
    user["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert plane.plan().verdict == Waiting(
        "Deleting", "nova-credentials: User 'nova-service-user' is being deleted"
    )
    users = {each.name: each.status for each in status(plane).identity.service_users}
    assert users["nova"] == "Deleting"
