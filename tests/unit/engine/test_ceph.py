"""The result of the Ceph check reaches the condition."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.api.glance import GlanceSpec
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Object
from cobaltcore.runtime.timestamps import timestamp
from cobaltcore.services.glance.steps import storage
from tests.support import planning

GLANCE = planning.an_object("Glance")


def checked(outcome: str, *, code: int, message: str) -> ServiceScope[GlanceSpec]:
    """A scope in which the Job of the check has finished."""
    (job,) = storage.connected(planning.scope(GLANCE)).objects
    when = timestamp(planning.NOW - timedelta(seconds=5))
    meta = {**job.body["metadata"], "uid": "a-job", "creationTimestamp": when}
    condition = {"type": outcome, "status": "True", "lastTransitionTime": when}
    ended = {"terminated": {"exitCode": code, "message": message}}
    pod: Object = {
        "metadata": {"name": "pod", "namespace": "openstack", "creationTimestamp": when},
        "status": {"containerStatuses": [{"name": "x", "state": ended}]},
    }
    done: dict[str, Any] = {"metadata": meta, "status": {"conditions": [condition]}}
    return planning.scope(GLANCE, (JOB, done), (POD, pod))


def test_an_accessible_pool_is_reported_with_its_name_and_free_space() -> None:
    scope = checked("Complete", code=0, message='{"images": 9}')
    assert storage.connected(scope).verdict == Ready("PoolAccessible", "pools: images")
    assert ceph.capacity(scope, storage.pools(scope)).free_gibibytes == {"images": 9}


def test_capacity_is_measured_again_every_hour() -> None:
    scope = checked("Complete", code=0, message='{"images": 9}')
    first = ceph.capacity(scope, storage.pools(scope))
    assert first.after == timedelta(minutes=59, seconds=55)
    later = replace(scope, now=planning.NOW + timedelta(hours=2))
    second, third = (
        ceph.capacity(each, storage.pools(each))
        for each in (later, replace(later, now=later.now + timedelta(hours=1)))
    )
    assert second.free_gibibytes == {}
    assert [each.objects[0].key.name[:20] for each in (second, third)] == [
        "glance-ceph-capacity"
    ] * 2
    assert second.objects[0].key != third.objects[0].key


@pytest.mark.parametrize("reason", ceph.REASONS)
def test_an_inaccessible_pool_is_reported_with_the_reason_of_the_check(reason: str) -> None:
    scope = checked("Failed", code=1, message=f"a traceback\n{reason}: something with 'images'\n")
    verdict = storage.connected(scope).verdict
    assert isinstance(verdict, Waiting)
    assert verdict.reason == reason
    assert f"{reason}: something with 'images'" in verdict.message
    assert verdict.after == timedelta(seconds=55), "it is tried again a minute after it failed"


def test_another_key_is_checked_again() -> None:
    (before,) = storage.connected(planning.scope(GLANCE)).objects
    changed = planning.scope(GLANCE)
    for content in changed.observed.contents.values():
        content["data"]["keyring"] = "bmV3LWtleQ=="
    (after,) = storage.connected(changed).objects
    assert before.key != after.key


def test_the_same_user_has_the_same_secret_in_libvirt_for_everyone() -> None:
    assert ceph.libvirt_secret("a", "nova") == ceph.libvirt_secret("a", "nova")
    different = {
        ceph.libvirt_secret(namespace, user)
        for namespace in ("a", "b")
        for user in ("nova", "cinder")
    }
    assert len(different) == 4
