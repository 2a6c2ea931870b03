"""Which application credential is created, handed out and revoked when."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cobaltcore.api.credentials import CredentialRotationSpec, RotationSchedule
from cobaltcore.operators.credentials import generations
from cobaltcore.operators.credentials.generations import Generation, Subject
from cobaltcore.operators.credentials.subject import roles_in
from cobaltcore.runtime.meta import Key

START = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = CredentialRotationSpec(
    target_service_user="nova-service-user",
    schedule=RotationSchedule(interval_days=90, pre_rotation_days=7),
)
SUBJECT = Subject(
    Key("cloud", "nova-app-credential"), "nova-service-user", "nova", "nova-clouds-yaml", {}
)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def a_generation(number: int, *, created: int = 0, usable: bool = True) -> Generation:
    known = ("id" + str(number), "half") if usable else ("", "")
    return Generation(
        number, f"nova-app-credential-v{number}", day(created), id=known[0], secret=known[1]
    )


@pytest.mark.parametrize(("today", "days"), [(0, 83), (82, 1), (83, 0), (200, 0)])
def test_a_successor_is_due_a_week_before_expiry(today: int, days: int) -> None:
    known = [a_generation(1)]
    due = generations.due_in(SPEC, known, asked=None, now=day(today))
    assert due == timedelta(days=days)


def test_the_first_one_is_due_at_once() -> None:
    assert generations.due_in(SPEC, [], asked=None, now=START) == timedelta(0)


def test_asking_makes_a_successor_once() -> None:
    first = [a_generation(1)]
    assert generations.due_in(SPEC, first, asked=day(2), now=day(1)) == timedelta(days=1)
    assert generations.due_in(SPEC, first, asked=day(2), now=day(2)) == timedelta(0)
    both = [*first, a_generation(2, created=2, usable=False)]
    assert generations.due_in(SPEC, both, asked=day(2), now=day(2)) == timedelta(days=83)


def test_a_successor_that_keystone_does_not_know_yet_is_not_handed_out() -> None:
    first, second = a_generation(1), a_generation(2, created=83, usable=False)
    assert generations.current([first, second]) == first
    assert generations.current([second]) is None


def a_lacking_one(number: int, *, created: datetime = START) -> Generation:
    return replace(a_generation(number), created_at=created, lacking=True)


def test_one_without_all_roles_is_handed_out_only_if_services_have_it_already() -> None:
    lacking, whole = a_lacking_one(1), a_generation(2)
    assert generations.current([lacking]) is None
    assert generations.current([lacking], in_hand=lacking.name) == lacking
    assert generations.current([lacking, whole], in_hand=lacking.name) == whole
    assert generations.current([whole, a_lacking_one(3)], in_hand=whole.name) == whole


def test_one_without_all_roles_gets_a_successor_later_at_every_try() -> None:
    first, second = a_lacking_one(1), a_lacking_one(2, created=START + timedelta(seconds=5))
    due = generations.due_in(SPEC, [first], asked=None, now=START)
    assert due == timedelta(seconds=5)
    for known in ([first, second], [second]):
        due = generations.due_in(SPEC, known, asked=None, now=second.created_at)
        assert due == timedelta(seconds=10)
    due = generations.due_in(SPEC, [a_generation(1), second], asked=None, now=second.created_at)
    assert due == timedelta(seconds=5)


def test_of_failed_tries_only_the_last_stays_and_what_services_have() -> None:
    in_hand, tried, last = a_lacking_one(1), a_lacking_one(2), a_lacking_one(3)
    gone = generations.superseded([in_hand, tried, last], in_hand)
    assert [key.name for _, key in gone] == [tried.name, tried.name]
    assert generations.superseded([last], None) == []
    assert generations.superseded([in_hand, tried, a_generation(3)], a_generation(3)) == []
    assert generations.superseded([a_generation(1), a_generation(2)], a_generation(2)) == []


@pytest.mark.parametrize(
    ("reported", "lacking"), [(None, False), (["a", "b", "c"], False), (["a"], True), ([], True)]
)
def test_roles_are_compared_when_keystone_has_reported_them(
    reported: list[str] | None, lacking: bool
) -> None:
    resource = {} if reported is None else {"roles": [{"id": each} for each in reported]}
    meta = {
        "name": "nova-app-credential-v1",
        "annotations": {"c5c3.io/created-at": "2026-01-01T00:00:00Z"},
    }
    obj = {"metadata": meta, "spec": {"resource": {}}, "status": {"id": "1", "resource": resource}}
    subject = replace(SUBJECT, roles=frozenset({"a", "b"}))
    (found,) = generations.read(subject, [obj], {})
    assert found.lacking is lacking


def test_roles_of_other_projects_and_of_domains_are_not_missed() -> None:
    def assigned(id_: str, **target: str) -> dict[str, Any]:
        return {"spec": {"resource": target}, "status": {"resource": {"roleID": id_}}}

    known = [
        assigned("here", projectRef="service"),
        assigned("elsewhere", projectRef="admin"),
        assigned("above", domainRef="default"),
        {"spec": {"resource": {"projectRef": "service"}}, "status": {}},
    ]
    assert roles_in("service", known) == {"here"}


def test_a_generation_is_a_secret_half_and_a_credential_that_expires() -> None:
    half, credential = generations.successor(
        SUBJECT, SPEC, [a_generation(1)], cloud_secret="login", now=START, random=bytes
    )
    assert half.key == credential.key == Key("cloud", "nova-app-credential-v2")
    assert half.once
    assert credential.once
    assert credential.body["spec"]["resource"]["expiresAt"] == "2026-04-01T00:00:00Z"
    assert credential.body["spec"]["cloudCredentialsRef"]["secretName"] == "login"


def test_services_that_still_use_the_predecessor_are_named() -> None:
    known = [a_generation(1), a_generation(2, created=83)]
    reports = {"Nova 'nova'": "id1", "Glance 'glance'": "another", "Cinder 'c'": "id2"}
    assert generations.still_old(known, known[1], reports) == ["Nova 'nova'"]


def test_a_predecessor_is_deleted_when_the_grace_period_after_use_is_over() -> None:
    known = [a_generation(1), a_generation(2, created=83)]

    def outdated(now: datetime, since: datetime | None) -> object:
        return generations.outdated(known, known[1], SPEC, in_use_since=since, now=now)

    assert outdated(day(90), None) == ([], None)
    assert outdated(day(84), day(83) + timedelta(hours=1)) == ([], timedelta(hours=1))
    gone, stays = generations.outdated(known, known[1], SPEC, in_use_since=day(83), now=day(85))
    assert {key.name for _, key in gone} == {"nova-app-credential-v1"}
    assert stays is None


def test_no_secret_is_in_the_words_of_a_generation() -> None:
    assert "half" not in repr(a_generation(1))
