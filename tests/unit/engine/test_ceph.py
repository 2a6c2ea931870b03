"""What the proof of Ceph says reaches the condition."""

from datetime import timedelta
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import Facts
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.clock import timestamp
from cobaltcore.runtime.meta import Object
from cobaltcore.services.glance.steps import storage
from tests.support import planning

GLANCE = planning.an_object("Glance")


def proof(outcome: str, *, code: int, words: str) -> Facts:
    """Facts in which the Job of the proof has ended."""
    (job,) = storage.connected(planning.facts(GLANCE)).objects
    meta = {**job.body["metadata"], "uid": "a-job"}
    when = timestamp(planning.NOW - timedelta(seconds=5))
    told = {"type": outcome, "status": "True", "lastTransitionTime": when}
    ended = {"terminated": {"exitCode": code, "message": words}}
    pod: Object = {
        "metadata": {"name": "pod", "namespace": "openstack", "creationTimestamp": when},
        "status": {"containerStatuses": [{"name": "x", "state": ended}]},
    }
    done: dict[str, Any] = {"metadata": meta, "status": {"conditions": [told]}}
    return planning.facts(GLANCE, (JOB, done), (POD, pod))


def test_an_open_pool_is_told_with_its_name_and_its_room() -> None:
    facts = proof("Complete", code=0, words='{"images": 9}')
    assert storage.connected(facts).verdict == Ready("PoolAccessible", "pools: images")
    assert ceph.free_gibibytes(facts, storage.pools(facts)) == {"images": 9}


@pytest.mark.parametrize("reason", ceph.REASONS)
def test_a_closed_one_is_told_with_the_reason_of_the_proof(reason: str) -> None:
    facts = proof("Failed", code=1, words=f"a traceback\n{reason}: something with 'images'\n")
    verdict = storage.connected(facts).verdict
    assert isinstance(verdict, Waiting)
    assert verdict.reason == reason
    assert f"{reason}: something with 'images'" in verdict.message
    assert verdict.after == timedelta(seconds=55), "it is tried again a minute after it failed"


def test_another_key_is_proven_anew() -> None:
    (before,) = storage.connected(planning.facts(GLANCE)).objects
    changed = planning.facts(GLANCE)
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
