"""Rotation of Keystone's keys as a sequence of plans, with Jobs that end as the test wants."""

import os
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cobaltcore.api.foreign.kubernetes import JOB, SECRET
from cobaltcore.engine.desired import secret
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.timestamps import timestamp
from cobaltcore.services.keystone.steps.keyring import PROPAGATION
from tests.support import planning
from tests.support.planning import NAMESPACE
from tests.support.simulation import Simulation

FERNET, CREDENTIAL = "keystone-fernet-keys", "keystone-credential-keys"
TWO_MONTHS = timedelta(days=62)


class _Random(Simulation):
    """Keys that differ."""

    def scope(self) -> Any:
        return replace(super().scope(), random=os.urandom)


class Cloud:
    """A Keystone that has come up."""

    def __init__(self, **changes: Any) -> None:
        live = planning.an_object("Keystone", **changes)
        self.simulation = _Random(ServicePlanner(planning.service("Keystone")), live)
        self.report(self.simulation.converge().conditions)

    def report(self, conditions: Any) -> None:
        reported = [{"type": c.type, "status": c.status, "reason": c.reason} for c in conditions]
        self.simulation.live["status"] = {"conditions": reported}

    def reconcile(self, *, job: str = "Complete") -> Any:
        """Plan and apply once; Jobs that it creates end with that condition, or run if it is empty."""
        before = set(self.simulation.objects)
        plan = self.simulation.plan()
        self.simulation.apply(plan)
        for each in plan.removals:
            self.simulation.objects.pop((each.kind, each.key))
            self.simulation.desired.pop((each.kind, each.key), None)
        for kind, key in set(self.simulation.objects) - before:
            if kind == JOB:
                self.end(key, job)
        self.report(plan.conditions)
        return plan

    def end(self, key: Key, job: str) -> None:
        at = timestamp(self.simulation.now)
        condition = {"type": job, "status": "True", "lastTransitionTime": at, "message": "why"}
        self.simulation.objects[JOB, key]["status"] = {"conditions": [condition] if job else []}

    def later(self, time: timedelta) -> None:
        self.simulation.now += time

    def keys(self, name: str) -> dict[str, str]:
        return secret.texts(self.object(name))

    def object(self, name: str) -> Object:
        return self.simulation.objects[SECRET, Key(NAMESPACE, name)]

    def jobs(self) -> list[Object]:
        found = (obj for (kind, _), obj in self.simulation.objects.items() if kind == JOB)
        return [each for each in found if "credential-migrate" in each["metadata"]["name"]]

    def condition(self, plan: Any, type_: str) -> tuple[str, str, str]:
        found = next(each for each in plan.conditions if each.type == type_)
        return found.status, found.reason, found.message


def test_nothing_is_migrated_before_the_first_rotation() -> None:
    cloud = Cloud()
    cloud.later(timedelta(days=1))
    cloud.reconcile()
    assert cloud.jobs() == []


def test_credentials_are_encrypted_again_before_a_key_is_promoted() -> None:
    cloud = Cloud()
    cloud.later(TWO_MONTHS)
    plan = cloud.reconcile(job="")
    assert set(cloud.keys(CREDENTIAL)) == {"0", "1"}, "not before they are"
    (job,) = cloud.jobs()
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == ["keystone-manage", "credential_migrate"]
    reported = cloud.condition(plan, "CredentialKeysReady")
    assert reported[:2] == ("True", "MigrationInProgress")
    cloud.end(Key(NAMESPACE, job["metadata"]["name"]), "Complete")
    cloud.reconcile()
    assert set(cloud.keys(CREDENTIAL)) == {"0", "1", "2"}


def test_the_job_mounts_exactly_the_keys_that_it_is_for() -> None:
    cloud = Cloud()
    cloud.later(TWO_MONTHS)
    cloud.reconcile()
    volumes = cloud.jobs()[0]["spec"]["template"]["spec"]["volumes"]
    (found,) = (each["secret"] for each in volumes if each["name"] == "credential-keys")
    assert [each["key"] for each in found["items"]] == ["0", "1"]


def test_credentials_are_encrypted_again_when_all_pods_have_the_promoted_key() -> None:
    cloud = Cloud()
    cloud.later(TWO_MONTHS)
    cloud.reconcile()
    plan = cloud.reconcile()
    assert len(cloud.jobs()) == 1, "pods may still encrypt with the key before"
    assert plan.after <= PROPAGATION
    cloud.later(PROPAGATION)
    cloud.reconcile()
    newest = cloud.jobs()[-1]["spec"]["template"]["spec"]["volumes"]
    (found,) = (each["secret"] for each in newest if each["name"] == "credential-keys")
    assert [each["key"] for each in found["items"]] == ["0", "1", "2"]


def test_no_credential_is_ever_encrypted_with_a_key_that_is_gone() -> None:
    cloud = Cloud(credentialKeys__maxActiveKeys=3)
    written = [cloud.keys(CREDENTIAL)["1"]]
    for _ in range(5):
        cloud.later(TWO_MONTHS)
        for _ in range(4):
            ended = {job["metadata"]["name"] for job in cloud.jobs()}
            cloud.reconcile()
            keys = cloud.keys(CREDENTIAL)
            if {job["metadata"]["name"] for job in cloud.jobs()} != ended:
                written = [keys[max(keys, key=int)]]
            assert set(written) <= set(keys.values())
            written.append(keys[max(keys, key=int)])
            cloud.later(PROPAGATION)


def test_a_migration_that_fails_stops_rotation_and_is_reported() -> None:
    cloud = Cloud()
    cloud.later(TWO_MONTHS)
    cloud.reconcile(job="Failed")
    plan = cloud.reconcile()
    status, reason, message = cloud.condition(plan, "CredentialKeysReady")
    assert (status, reason) == ("False", "MigrationFailed")
    assert "openstack credential delete ID" in message
    assert set(cloud.keys(CREDENTIAL)) == {"0", "1"}
    assert cloud.condition(plan, "DeploymentReady")[0] == "True", "Keystone serves"
    cloud.later(timedelta(minutes=2))
    cloud.reconcile()
    cloud.reconcile()
    assert len(cloud.jobs()) == 1, "it is tried again"
    cloud.reconcile()
    assert set(cloud.keys(CREDENTIAL)) == {"0", "1", "2"}


def test_a_suspended_rotation_still_ends_what_it_began() -> None:
    cloud = Cloud()
    cloud.later(TWO_MONTHS)
    cloud.reconcile()
    cloud.reconcile()
    cloud.simulation.live["spec"]["credentialKeys"]["suspend"] = True
    cloud.later(TWO_MONTHS)
    cloud.reconcile()
    assert len(cloud.jobs()) == 2
    plan = cloud.reconcile()
    assert set(cloud.keys(CREDENTIAL)) == {"0", "1", "2"}
    assert cloud.condition(plan, "CredentialKeysReady")[1] == "RotationSuspended"


def test_a_fernet_key_stays_as_long_as_a_token_of_it_can_live() -> None:
    """By default an hour, and two days for services that finish what it began."""
    cloud = Cloud(fernet__rotationSchedule="0 * * * *")
    first = cloud.keys(FERNET)["1"]
    for _ in range(50):
        cloud.later(timedelta(hours=1))
        cloud.reconcile()
        assert first in cloud.keys(FERNET).values()
    cloud.later(timedelta(hours=1))
    cloud.reconcile()
    assert first not in cloud.keys(FERNET).values()


def test_a_longer_life_of_tokens_keeps_keys_longer() -> None:
    options = {"token": {"expiration": "864000", "allow_expired_window": "0"}}
    cloud = Cloud(fernet__rotationSchedule="0 0 * * *", extraConfig=options)
    first = cloud.keys(FERNET)["1"]
    for _ in range(11):
        cloud.later(timedelta(days=1))
        cloud.reconcile()
        assert first in cloud.keys(FERNET).values()


def test_a_life_of_tokens_that_is_no_number_is_refused() -> None:
    plan = Cloud(extraConfig={"token": {"expiration": "banana"}}).reconcile()
    assert plan.verdict.reason == "SpecInvalid"
    assert "spec.extraConfig.token.expiration: 'banana'" in plan.verdict.message


def test_last_key_rotation_is_when_fernet_keys_were_created_or_rotated() -> None:
    cloud = Cloud()
    assert cloud.reconcile().status.last_key_rotation == timestamp(planning.NOW)
    cloud.later(timedelta(weeks=1))
    at: datetime = cloud.simulation.now
    cloud.reconcile()
    cloud.later(timedelta(hours=1))
    assert cloud.reconcile().status.last_key_rotation == timestamp(at)


def test_keys_that_are_lost_are_not_replaced() -> None:
    for name, condition in ((FERNET, "FernetKeysReady"), (CREDENTIAL, "CredentialKeysReady")):
        cloud = Cloud()
        del cloud.simulation.objects[SECRET, Key(NAMESPACE, name)]
        plan = cloud.reconcile()
        status, reason, message = cloud.condition(plan, condition)
        assert (status, reason) == ("False", "KeysLost")
        assert f"Secret {name!r} does not exist any more" in message
        assert f"kubectl create secret generic {name}" in message
        assert cloud.condition(cloud.reconcile(), condition)[1] == "KeysLost", "it stays so"
        assert (SECRET, Key(NAMESPACE, name)) not in cloud.simulation.objects


def test_an_empty_secret_gets_new_keys() -> None:
    cloud = Cloud()
    empty = {**cloud.object(FERNET), "data": {}}
    cloud.simulation.objects[SECRET, Key(NAMESPACE, FERNET)] = empty
    cloud.reconcile()
    assert set(cloud.keys(FERNET)) == {"0", "1"}


def test_a_secret_without_its_staged_key_is_left_alone() -> None:
    cloud = Cloud()
    data = {"1": cloud.object(CREDENTIAL)["data"]["1"]}
    cloud.simulation.objects[SECRET, Key(NAMESPACE, CREDENTIAL)] = {
        **cloud.object(CREDENTIAL),
        "data": data,
    }
    plan = cloud.reconcile()
    assert cloud.condition(plan, "CredentialKeysReady")[1] == "KeysLost"
    assert cloud.object(CREDENTIAL)["data"] == data
    assert (SECRET, Key(NAMESPACE, CREDENTIAL)) in {(e.kind, e.key) for e in plan.objects}
