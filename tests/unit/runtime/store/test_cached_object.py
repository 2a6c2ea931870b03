from typing import Any

import msgspec
import pytest

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.meta import Key, Object


def an_object(version: int = 7, **meta: Any) -> Object:
    metadata = {"name": "a", "namespace": "ns", "resourceVersion": str(version), **meta}
    return {"metadata": metadata, "spec": {"size": 3}, "status": {"ready": True}}


def read(obj: Object) -> CachedObject:
    return CachedObject.read(msgspec.json.encode(obj))


def decoded(obj: Object) -> CachedObject:
    return CachedObject.decoded(msgspec.json.encode(obj))


@pytest.mark.parametrize("make", [read, decoded, CachedObject.of])
def test_an_object_is_the_same_from_bytes_and_decoded(make: Any) -> None:
    cached = make(an_object(ownerReferences=[{"uid": "u1", "name": "b"}], managedFields=[{}]))
    assert cached.key == Key("ns", "a")
    assert cached.version == 7
    assert cached.owners == ["ns/u1"]
    assert cached.status == {"ready": True}
    assert cached.object == an_object(ownerReferences=[{"uid": "u1", "name": "b"}])


def test_bytes_are_decoded_once_and_stay_comparable() -> None:
    cached = read(an_object(labels={"app": "x"}))
    assert cached.object is cached.object
    assert cached.same_apart_from_status(read(an_object(8, labels={"app": "x"})))


def test_an_object_without_a_status_a_namespace_or_owners() -> None:
    cached = CachedObject.read(b'{"metadata":{"name":"a","resourceVersion":"1"}}')
    assert cached.key == Key("", "a")
    assert cached.status is None
    assert cached.owners == []


def test_a_bookmark_has_a_version_and_no_name() -> None:
    assert CachedObject.read(b'{"metadata":{"resourceVersion":"12"}}').version == 12


@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2},
        {"labels": {"app": "x"}},
        {"annotations": {"note": "x"}},
        {"finalizers": ["keep"]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    ],
)
def test_metadata_differs_from_a_status_update_and_a_version_does_not(change: Object) -> None:
    before = read(an_object(generation=1))
    assert read(an_object(8, generation=1)).same_apart_from_status(before)
    assert not read(an_object(8, **{"generation": 1, **change})).same_apart_from_status(before)
