import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.engine.desired import secret
from cobaltcore.runtime.meta import Key
from cobaltcore.services.keystone.steps.keyring import MOST_KEYS, PROPAGATION, Keyring

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEEK = timedelta(weeks=1)


def a_maker() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"key{next(numbers)}"


def stored(ring: Keyring) -> Keyring:
    """Through a Secret and back."""
    name = Key("openstack", "keystone-fernet-keys")
    body = secret.secret(name, ring.values, labels={}, annotations=ring.annotations).body
    return Keyring.read(dict(body), NOW)


def test_a_rotation_promotes_the_staged_key() -> None:
    ring = Keyring({0: "staged", 1: "writes"}, NOW)
    after = ring.rotated(3, lambda: "new", NOW + WEEK)
    assert after.values == {"0": "new", "1": "writes", "2": "staged"}
    assert (after.rotated_at, after.superseded) == (NOW + WEEK, {1: NOW + WEEK})


def test_the_oldest_key_is_dropped_when_there_are_too_many() -> None:
    ring = Keyring({0: "staged", 1: "old", 2: "writes"}, NOW, {1: NOW})
    after = ring.rotated(3, lambda: "new", NOW + WEEK)
    assert after.values == {"0": "new", "2": "writes", "3": "staged"}


def test_a_key_stays_while_what_it_encrypted_is_needed() -> None:
    ring = Keyring({0: "staged", 1: "old", 2: "writes"}, NOW, {1: NOW})
    after = ring.rotated(3, lambda: "new", NOW + WEEK, needed=WEEK)
    assert set(after.keys) == {0, 1, 2, 3}
    again = after.rotated(3, lambda: "newer", NOW + WEEK + PROPAGATION, needed=WEEK)
    assert set(again.keys) == {0, 2, 3, 4}


def test_keys_without_a_record_count_as_used_until_the_last_rotation() -> None:
    name = Key("openstack", "keystone-fernet-keys")
    notes = {"c5c3.io/rotated-at": "2026-01-01T00:00:00Z"}
    body = secret.secret(name, {"0": "a", "4": "b", "5": "c"}, labels={}, annotations=notes).body
    assert Keyring.read(dict(body), NOW + WEEK).superseded == {4: NOW}


def test_a_record_that_somebody_spoiled_is_none() -> None:
    notes = {"c5c3.io/rotated-at": "2026-01-01T00:00:00Z", "c5c3.io/superseded": '{"4": "never"}'}
    name = Key("openstack", "keystone-fernet-keys")
    body = secret.secret(name, {"0": "a", "4": "b", "5": "c"}, labels={}, annotations=notes).body
    assert Keyring.read(dict(body), NOW + WEEK).superseded == {4: NOW}


def test_a_rotation_waits_when_there_are_as_many_keys_as_keystone_should_try() -> None:
    ring, at = Keyring.created(a_maker(), NOW), NOW
    make = a_maker()
    while len(ring.keys) < MOST_KEYS:
        at += timedelta(minutes=5)
        ring = ring.rotated(3, make, at, needed=WEEK)
    assert ring.has_room_at(WEEK) == ring.superseded[1] + PROPAGATION + WEEK
    after = ring.rotated(3, make, ring.has_room_at(WEEK), needed=WEEK)
    assert len(after.keys) == MOST_KEYS


@given(
    st.integers(min_value=3, max_value=10),
    st.lists(st.integers(min_value=2, max_value=3000), min_size=1, max_size=30),
    st.integers(min_value=0, max_value=3000),
)
def test_any_rotations_keep_the_rules(limit: int, minutes: list[int], needed: int) -> None:
    lifetime, now = timedelta(minutes=needed), NOW
    make = a_maker()
    ring = Keyring.created(make, now)
    issued: list[tuple[datetime, str]] = []
    for each in minutes:
        now += timedelta(minutes=each)
        # A pod that gets new keys late still encrypts with the old one.
        issued.append((now + PROPAGATION, ring.keys[ring.primary]))
        staged = ring.keys[0]
        ring = stored(ring.rotated(limit, make, now, needed=lifetime))
        assert ring.keys[ring.primary] == staged, "the staged key encrypts now"
        known = set(ring.keys.values())
        assert len(known) == len(ring.keys), "every key is another"
        for at, key in issued:
            assert key in known or at + lifetime <= now, "what lives can be read"
