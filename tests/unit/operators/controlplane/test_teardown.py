"""Deletion of a ControlPlane: order, time limit, and what is kept."""

from collections.abc import Sequence
from datetime import timedelta

from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc, mariadb
from cobaltcore.api.foreign.kubernetes import (
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.keystone import KIND as KEYSTONE
from cobaltcore.engine.plan import Removal
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.operators.controlplane import children, teardown
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.runtime.timestamps import timestamp
from tests.support.control_planes import a_ready_one
from tests.support.simulation import NOW, Simulation

GARBAGE = {SECRET, SERVICE, STATEFUL_SET, POD_DISRUPTION_BUDGET}
"""Kinds that nothing needs to outlive."""


def deleted(*, policy: str = "Delete", for_: timedelta = timedelta()) -> Simulation:
    """A control plane that was ready until it was deleted some time ago."""
    plane = a_ready_one(deletionPolicy=policy)
    plane.live["metadata"]["deletionTimestamp"] = timestamp(NOW - for_)
    return plane


def removed(plane: Simulation) -> set[str]:
    return {each.kind.kind for each in plane.teardown().removals}


def carry_out(plane: Simulation) -> list[set[str]]:
    """Delete what each plan removes until it is done; the kinds of each round."""
    rounds: list[set[str]] = []
    while not (plan := plane.teardown()).done:
        rounds.append({each.kind.kind for each in plan.removals})
        delete(plane, plan.removals)
    return rounds


def delete(plane: Simulation, removals: Sequence[Removal]) -> None:
    for each in removals:
        del plane.objects[each.kind, each.key]


def first(rounds: list[set[str]], kind: str) -> int:
    return next(number for number, kinds in enumerate(rounds) if kind in kinds)


def test_services_are_deleted_before_what_they_need() -> None:
    rounds = carry_out(deleted())
    assert first(rounds, "Nova") < first(rounds, "Placement")
    assert first(rounds, "Nova") < first(rounds, "CredentialRotation")
    assert first(rounds, "User") < first(rounds, "Keystone")
    assert first(rounds, "Keystone") < first(rounds, "MariaDB")


def test_credential_is_revoked_before_its_user_is_deleted() -> None:
    rounds = carry_out(deleted())
    assert first(rounds, ROTATION.kind) < first(rounds, korc.USER.kind)


def test_keystone_stays_while_anything_in_it_is_being_deleted() -> None:
    plane = deleted()
    assert "Keystone" not in removed(plane)
    assert isinstance(plane.teardown().verdict, Waiting)


def test_nothing_left_releases_the_finalizer() -> None:
    plane = deleted()
    plane.objects.clear()
    plan = plane.teardown()
    assert plan.done
    assert isinstance(plan.verdict, Ready)


def test_objects_of_others_are_not_deleted() -> None:
    plane = deleted()
    for obj in plane.objects.values():
        obj["metadata"]["ownerReferences"] = [{"uid": "another", "controller": True}]
    assert plane.teardown().done


def test_deletion_looks_again_at_its_time_limit() -> None:
    assert deleted(for_=timedelta(minutes=2)).teardown().after == timedelta(minutes=3)


def test_what_is_left_at_the_time_limit_is_abandoned_and_named() -> None:
    plan = deleted(for_=teardown.LIMIT).teardown()
    assert plan.done
    (event,) = plan.events
    assert (event.type, event.reason) == ("Warning", "TeardownIncomplete")
    assert event.note.startswith("not deleted after 5 minutes, left behind: ")


def test_abandoned_objects_of_keystone_are_detached() -> None:
    plane = deleted()
    while "User" not in removed(plane):
        delete(plane, plane.teardown().removals)
    plane.now += teardown.LIMIT
    names = [each.name for each in plane.teardown().actions]
    assert "detach User 'nova-service-user' from Keystone" in names


def test_passwords_are_kept_and_named_when_data_is_kept() -> None:
    plane = deleted(policy="Retain")
    carry_out(plane)
    (event,) = plane.teardown().events
    assert event.reason == "DataKept"
    assert "Secret nova-db-credentials" in event.note


def test_nothing_is_kept_when_data_is_deleted() -> None:
    plane = deleted()
    carry_out(plane)
    assert plane.teardown().events == []
    assert not [kind for kind, _ in plane.objects if kind == mariadb.MARIADB]


def test_a_release_that_nobody_knows_is_no_obstacle() -> None:
    known, unknown = deleted(), deleted()
    unknown.live["spec"]["openStackRelease"] = "2026.1"
    assert carry_out(unknown) == carry_out(known)


def test_parts_that_the_spec_does_not_name_any_more_are_deleted_in_order() -> None:
    plane = deleted()
    services = plane.live["spec"].setdefault("services", {})
    services |= {name: {"enabled": False} for name in ("nova", "cinder", "neutron")}
    rounds = carry_out(plane)
    assert first(rounds, "Nova") < first(rounds, ROTATION.kind) < first(rounds, "User")
    assert first(rounds, "User") < first(rounds, "Keystone") < first(rounds, "MariaDB")


def test_every_part_that_has_objects_is_found_by_its_owner() -> None:
    """A kind that is left out would be deleted with its control plane, in no order."""
    plane = a_ready_one()
    view = plane.scope()
    for node in PARTS:
        kinds = {each.kind for each in node.objects(view) if not each.kept}
        for kind in kinds - GARBAGE:
            names = (e.key.name for e in node.objects(view) if e.kind == kind)
            assert {children.part_of(kind, name) for name in names} == {node.name}


def terminating(plane: Simulation, *kinds: str) -> None:
    """As K-ORC's objects are while it cannot reach Keystone."""
    for (kind, _), obj in plane.objects.items():
        if kind.kind in kinds:
            finalizers = ["foregroundDeletion", "openstack.k-orc.cloud/x"]
            obj["metadata"] |= {"deletionTimestamp": timestamp(NOW), "finalizers": finalizers}


def test_objects_in_a_keystone_that_is_gone_are_released() -> None:
    """A deleted namespace loses Keystone before K-ORC has asked it to delete anything."""
    plane = deleted()
    terminating(plane, "User", "Project")
    assert plane.teardown().releases == []
    plane.objects = {known: obj for known, obj in plane.objects.items() if known[0] != KEYSTONE}
    found = plane.teardown().releases
    assert {each.kind.kind for each in found} == {"User", "Project"}
    assert {each.finalizer for each in found} == {"openstack.k-orc.cloud/x"}
