"""Rotation of Keystone's keys as a sequence of plans, with Jobs that end as the test wants."""

from datetime import datetime, timedelta

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.keystone import KeystoneStatus
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.timestamps import timestamp
from cobaltcore.services.keystone.steps.keyring import PROPAGATION
from tests.support import planning
from tests.support.keystones import Cloud
from tests.support.planning import NAMESPACE

FERNET, CREDENTIAL = "keystone-fernet-keys", "keystone-credential-keys"
TWO_MONTHS = timedelta(days=62)


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
    assert plan.after is not None
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


def last_rotation(cloud: Cloud) -> str | None:
    status = cloud.reconcile().status
    assert isinstance(status, KeystoneStatus)
    return status.last_key_rotation


def test_last_key_rotation_is_when_fernet_keys_were_created_or_rotated() -> None:
    cloud = Cloud()
    assert last_rotation(cloud) == timestamp(planning.NOW)
    cloud.later(timedelta(weeks=1))
    at: datetime = cloud.simulation.now
    cloud.reconcile()
    cloud.later(timedelta(hours=1))
    assert last_rotation(cloud) == timestamp(at)


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
