"""Deletion of a CredentialRotation, with and without the Keystone that its credentials are in."""

from datetime import timedelta

from cobaltcore.api import keystone
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import clouds
from cobaltcore.operators.credentials import revocation
from cobaltcore.operators.credentials.rotation import RotationPlanner
from cobaltcore.runtime.meta import Key, Object, owner_reference
from cobaltcore.runtime.timestamps import timestamp
from tests.support import planning
from tests.support.simulation import NOW, Simulation

NAMESPACE = planning.NAMESPACE
NAME = "nova-app-credential-v1"
INTERNAL = f"https://keystone.{NAMESPACE}.svc.cluster.local:5000/v3"


def a_rotation(*, url: str = INTERNAL, deleting: bool = True) -> Simulation:
    """One with a credential, which was deleted a minute ago."""
    meta = {"name": "nova-app-credential", "namespace": NAMESPACE, "uid": "rotation"}
    live = {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "CredentialRotation",
        "metadata": {**meta, "generation": 1, "deletionTimestamp": timestamp(NOW)},
        "spec": {"targetServiceUser": "nova-service-user"},
    }
    world = Simulation(RotationPlanner(), live)
    world.now = NOW + timedelta(minutes=1)
    world.add(korc.APPLICATION_CREDENTIAL, a_credential(live, deleting=deleting))
    login = clouds.Login(url, "nova", "its own", "service", "RegionOne")
    secret = clouds.clouds(Key(NAMESPACE, "nova-clouds-yaml"), "openstack", login, labels={})
    world.add(SECRET, dict(secret.body))
    return world


def a_credential(owner: Object, *, deleting: bool) -> Object:
    meta = {
        "name": NAME,
        "namespace": NAMESPACE,
        "ownerReferences": [owner_reference(owner)],
        "finalizers": ["openstack.k-orc.cloud/applicationcredential"],
    }
    if deleting:
        meta["deletionTimestamp"] = timestamp(NOW)
    reference = {"cloudName": "openstack", "secretName": "nova-clouds-yaml"}
    resource = {"expiresAt": "2026-04-01T00:00:00Z"}
    return {"metadata": meta, "spec": {"cloudCredentialsRef": reference, "resource": resource}}


def with_keystone(world: Simulation) -> Simulation:
    meta = {"name": "keystone", "namespace": NAMESPACE}
    world.add(keystone.KIND, {"metadata": meta, "spec": {}})
    return world


def test_credentials_are_deleted_before_their_rotation() -> None:
    world = with_keystone(a_rotation(deleting=False))
    plan = world.teardown()
    assert [each.key.name for each in plan.removals] == [NAME]
    assert not plan.done
    world.objects.clear()
    assert world.teardown().done


def test_a_keystone_that_exists_revokes_its_credentials_itself() -> None:
    plan = with_keystone(a_rotation()).teardown()
    assert (plan.releases, plan.removals, plan.events) == ([], [], [])
    assert not plan.done


def test_a_credential_in_a_keystone_that_is_gone_is_released_and_named() -> None:
    plan = a_rotation().teardown()
    (release,) = plan.releases
    assert release.finalizer == "openstack.k-orc.cloud/applicationcredential"
    (event,) = plan.events
    assert (event.type, event.reason) == ("Warning", "NotRevoked")
    assert NAME in event.note
    assert "it is valid until 2026-04-01T00:00:00Z" in event.note


def test_a_keystone_that_was_deleted_a_moment_ago_may_be_created_again() -> None:
    world = a_rotation()
    world.now = NOW + timedelta(seconds=10)
    plan = world.teardown()
    assert plan.releases == []
    assert plan.after == revocation.GRACE - timedelta(seconds=10)


def test_a_credential_in_a_keystone_elsewhere_waits_for_it() -> None:
    for url in ("https://identity.example.com/v3", "https://keystone.other.svc.cluster.local/v3"):
        assert a_rotation(url=url).teardown().releases == []


def test_a_credential_whose_login_is_gone_is_released() -> None:
    world = a_rotation(url="https://identity.example.com/v3")
    del world.objects[SECRET, Key(NAMESPACE, "nova-clouds-yaml")]
    assert len(world.teardown().releases) == 1
