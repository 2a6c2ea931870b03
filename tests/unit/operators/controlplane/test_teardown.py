"""Deletion of a ControlPlane: order, time limit, and what is kept."""

from collections.abc import Sequence
from datetime import timedelta

from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc, mariadb
from cobaltcore.engine.plan import Removal
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.operators.controlplane import teardown
from cobaltcore.runtime.timestamps import timestamp
from tests.support.control_planes import a_ready_one
from tests.support.simulation import NOW, Simulation


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
