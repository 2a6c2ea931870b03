from typing import Any

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.store import Store


def an_object(name: str, version: int, **meta: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version), **meta}}


def cached(name: str, version: int, status: Object | None = None, **meta: Any) -> CachedObject:
    report = {"status": status} if status is not None else {}
    return CachedObject.of({**an_object(name, version, **meta), **report})


def test_a_newer_version_replaces_an_older_one_and_never_the_other_way() -> None:
    store = Store()
    assert store.put(cached("a", 5))
    assert store.put(cached("a", 4)) is None
    assert store.put(cached("a", 5)) is None
    change = store.put(cached("a", 6))
    assert change is not None
    assert change.old == an_object("a", 5)


def test_a_late_event_does_not_restore_a_deleted_object() -> None:
    store = Store()
    store.put(cached("a", 5))
    store.remove(Key("ns", "a"), version=7)
    assert store.put(cached("a", 6)) is None
    assert store.put(cached("a", 8)) is not None


def test_a_late_removal_does_not_remove_a_recreated_object() -> None:
    store = Store()
    store.put(cached("a", 9))
    assert store.remove(Key("ns", "a"), version=7) is None
    assert store.get(Key("ns", "a")) is not None


def test_objects_are_found_by_owner_and_by_own_indexes_after_every_change() -> None:
    store = Store()
    store.put(cached("a", 1, ownerReferences=[{"uid": "u1"}], labels={"app": "x"}))
    store.add_index("app", lambda obj: [obj["metadata"].get("labels", {}).get("app", "")])
    assert [o["metadata"]["name"] for o in store.find("owner", "ns/u1")] == ["a"]
    assert store.find("owner", "other/u1") == [], "dependents are in the namespace of their owner"
    assert [o["metadata"]["name"] for o in store.find("app", "x")] == ["a"]
    store.put(cached("a", 2, labels={"app": "y"}))
    assert store.find("owner", "ns/u1") == []
    assert store.find("app", "x") == []
    assert len(store.find("app", "y")) == 1
    store.remove(Key("ns", "a"), version=3)
    assert store.find("app", "y") == []


def test_a_list_removes_deleted_objects() -> None:
    store = Store()
    store.put(cached("a", 1))
    store.put(cached("b", 2))
    gone = store.retain({Key("ns", "a")}, version=10)
    assert [change.key.name for change in gone] == ["b"]
    assert len(store) == 1


def test_a_list_keeps_objects_created_after_it() -> None:
    store = Store()
    store.put(cached("ours", 20))
    assert store.retain(set(), version=10) == []
    assert len(store) == 1


def test_a_status_that_is_being_written_is_an_own_status_update() -> None:
    store = Store()
    key = Key("ns", "a")
    store.put(cached("a", 1, generation=1))
    store.own_status_updates[key] = {"observed": 1}
    event = store.put(cached("a", 2, generation=1, status={"observed": 1}))
    assert event is not None
    assert event.own_status_update
    assert store.put(cached("a", 2, generation=1, status={"observed": 1})) is None


def test_another_spec_or_status_is_no_own_status_update() -> None:
    store = Store()
    store.put(cached("a", 1, generation=1))
    store.own_status_updates[Key("ns", "a")] = {"observed": 1}
    spec = store.put(cached("a", 2, generation=2, status={"observed": 1}))
    status = store.put(cached("a", 3, generation=2, status={"observed": 7}))
    assert spec is not None
    assert status is not None
    assert not spec.own_status_update
    assert not status.own_status_update


def calls_of_index(*, spec_only: bool) -> tuple[Store, list[int]]:
    store, versions = Store(), list[int]()

    def values(obj: Object) -> list[str]:
        versions.append(int(obj["metadata"]["resourceVersion"]))
        return ["x"]

    store.add_index("x", values, spec_only=spec_only)
    return store, versions


def test_an_index_function_is_called_once_per_change() -> None:
    store, versions = calls_of_index(spec_only=False)
    for version in (1, 2, 3):
        store.put(cached("a", version, generation=1))
    store.remove(Key("ns", "a"), version=4)
    assert versions == [1, 2, 3]
    assert store.find("x", "x") == []


def test_an_index_of_the_spec_is_not_called_while_the_generation_is_the_same() -> None:
    store, versions = calls_of_index(spec_only=True)
    for version, generation in ((1, 1), (2, 1), (3, 2), (4, 2)):
        store.put(cached("a", version, generation=generation))
    assert versions == [1, 3]
    assert len(store.find("x", "x")) == 1


def test_an_index_of_the_spec_is_called_for_a_recreated_object() -> None:
    store, versions = calls_of_index(spec_only=True)
    store.put(cached("a", 1, generation=1, uid="u1"))
    store.put(cached("a", 5, generation=1, uid="u2"))
    assert versions == [1, 5]


def test_an_index_of_the_spec_is_always_called_without_generations() -> None:
    store, versions = calls_of_index(spec_only=True)
    store.put(cached("a", 1))
    store.put(cached("a", 2))
    assert versions == [1, 2]
