from typing import Any

import msgspec
import pytest

from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.sighting import Sighting


def an_object(version: int = 7, **meta: Any) -> Object:
    metadata = {"name": "a", "namespace": "ns", "resourceVersion": str(version), **meta}
    return {"metadata": metadata, "spec": {"size": 3}, "status": {"ready": True}}


def read(obj: Object) -> Sighting:
    return Sighting.read(msgspec.json.encode(obj))


def decoded(obj: Object) -> Sighting:
    return Sighting.decoded(msgspec.json.encode(obj))


@pytest.mark.parametrize("make", [read, decoded, Sighting.of])
def test_a_state_is_the_same_whether_it_comes_as_bytes_or_decoded(make: Any) -> None:
    seen = make(an_object(ownerReferences=[{"uid": "u1", "name": "b"}], managedFields=[{}]))
    assert seen.key == Key("ns", "a")
    assert seen.version == 7
    assert seen.owner_uids == ["u1"]
    assert seen.status == {"ready": True}
    assert seen.object == an_object(ownerReferences=[{"uid": "u1", "name": "b"}])


def test_what_is_read_is_decoded_once_and_stays_comparable() -> None:
    seen = read(an_object(labels={"app": "x"}))
    assert seen.object is seen.object
    assert seen.wishes_as(read(an_object(8, labels={"app": "x"})))


def test_an_object_without_a_status_a_namespace_or_owners() -> None:
    seen = Sighting.read(b'{"metadata":{"name":"a","resourceVersion":"1"}}')
    assert seen.key == Key("", "a")
    assert seen.status is None
    assert seen.owner_uids == []


def test_a_bookmark_has_a_version_and_no_name() -> None:
    assert Sighting.read(b'{"metadata":{"resourceVersion":"12"}}').version == 12


@pytest.mark.parametrize(
    "wish",
    [
        {"generation": 2},
        {"labels": {"app": "x"}},
        {"annotations": {"note": "x"}},
        {"finalizers": ["keep"]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_wish_tells_two_states_apart_and_a_version_does_not(wish: Object) -> None:
    before = read(an_object(generation=1))
    assert read(an_object(8, generation=1)).wishes_as(before)
    assert not read(an_object(8, **{"generation": 1, **wish})).wishes_as(before)
