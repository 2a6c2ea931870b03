from typing import Any

from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.sighting import Sighting
from cobaltcore.runtime.store import Store


def an_object(name: str, version: int, **meta: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version), **meta}}


def seen(name: str, version: int, status: Object | None = None, **meta: Any) -> Sighting:
    told = {"status": status} if status is not None else {}
    return Sighting.of({**an_object(name, version, **meta), **told})


def test_a_newer_state_replaces_an_older_one_and_never_the_other_way() -> None:
    store = Store()
    assert store.put(seen("a", 5))
    assert store.put(seen("a", 4)) is None
    assert store.put(seen("a", 5)) is None
    change = store.put(seen("a", 6))
    assert change is not None
    assert change.old == an_object("a", 5)


def test_a_late_event_does_not_revive_what_was_removed() -> None:
    store = Store()
    store.put(seen("a", 5))
    store.remove(Key("ns", "a"), version=7)
    assert store.put(seen("a", 6)) is None
    assert store.put(seen("a", 8)) is not None


def test_a_late_removal_does_not_hide_a_namesake_made_since() -> None:
    store = Store()
    store.put(seen("a", 9))
    assert store.remove(Key("ns", "a"), version=7) is None
    assert store.get(Key("ns", "a")) is not None


def test_objects_are_found_by_owner_and_by_own_indexes_after_every_change() -> None:
    store = Store()
    store.put(seen("a", 1, ownerReferences=[{"uid": "u1"}], labels={"app": "x"}))
    store.add_index("app", lambda obj: [obj["metadata"].get("labels", {}).get("app", "")])
    assert [o["metadata"]["name"] for o in store.find("owner", "u1")] == ["a"]
    assert [o["metadata"]["name"] for o in store.find("app", "x")] == ["a"]
    store.put(seen("a", 2, labels={"app": "y"}))
    assert store.find("owner", "u1") == []
    assert store.find("app", "x") == []
    assert len(store.find("app", "y")) == 1
    store.remove(Key("ns", "a"), version=3)
    assert store.find("app", "y") == []


def test_a_full_listing_finds_what_vanished() -> None:
    store = Store()
    store.put(seen("a", 1))
    store.put(seen("b", 2))
    gone = store.retain({Key("ns", "a")}, version=10)
    assert [change.key.name for change in gone] == ["b"]
    assert len(store) == 1


def test_a_full_listing_keeps_what_was_made_after_it() -> None:
    store = Store()
    store.put(seen("ours", 20))
    assert store.retain(set(), version=10) == []
    assert len(store) == 1


def test_the_status_that_we_are_writing_is_no_news_however_it_comes_back() -> None:
    store = Store()
    key = Key("ns", "a")
    store.put(seen("a", 1, generation=1))
    store.telling[key] = {"observed": 1}
    event = store.put(seen("a", 2, generation=1, status={"observed": 1}))
    assert event is not None
    assert event.told
    assert store.put(seen("a", 2, generation=1, status={"observed": 1})) is None


def test_another_wish_or_another_status_is_news_while_we_write() -> None:
    store = Store()
    store.put(seen("a", 1, generation=1))
    store.telling[Key("ns", "a")] = {"observed": 1}
    wish = store.put(seen("a", 2, generation=2, status={"observed": 1}))
    status = store.put(seen("a", 3, generation=2, status={"observed": 7}))
    assert wish is not None
    assert status is not None
    assert not wish.told
    assert not status.told
