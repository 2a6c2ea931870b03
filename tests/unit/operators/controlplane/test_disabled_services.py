"""Services that are switched off, before and after they ran."""

from cobaltcore.api import cinder
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.verdict import Ready
from tests.support import objects
from tests.support.control_planes import a_ready_one, applied, key
from tests.support.simulation import Simulation


def test_disabled_service_has_no_objects() -> None:
    names = applied(a_ready_one(services__cinder__enabled=False))
    assert not {each for each in names if "cinder" in each.lower()}


def without_cinder() -> Simulation:
    """A cloud in which Cinder was switched off a moment ago."""
    plane = a_ready_one()
    plane.live = objects.changed(plane.live, {"spec.services.cinder.enabled": False})
    return plane


def test_credential_of_a_disabled_service_is_revoked_before_roles_and_user() -> None:
    plane, order = without_cinder(), []
    while removals := plane.plan().removals:
        order += [each.kind for each in removals]
        for each in removals:
            del plane.objects[each.kind, each.key]
    assert order[0] == cinder.KIND
    assert order[1] == ROTATION
    assert set(order[2:]) >= {korc.USER, korc.ROLE_ASSIGNMENT}
    assert (korc.USER, key("cinder-service-user")) not in plane.objects


def test_secret_that_others_share_stays_when_a_service_is_disabled() -> None:
    plane = a_ready_one(deletionPolicy="Delete")
    off = {"spec.services.nova.enabled": False}
    plane.live = objects.changed(plane.live, off)
    removed = {each.key.name for each in plane.plan().removals}
    assert "nova" in removed
    assert "metadata-proxy" not in removed


def test_passwords_of_a_disabled_service_are_not_pruned() -> None:
    plane = a_ready_one()
    unpruned = {each.kind for each in plane.planner.children if not each.pruned}
    assert unpruned == {SECRET}


def test_disabled_service_is_not_counted_as_progress() -> None:
    whole = a_ready_one().plan().status
    fewer = a_ready_one(services__cinder__enabled=False).plan().status
    assert whole is not None
    assert fewer is not None
    parts = int(whole.progress.partition("/")[2])
    assert fewer.progress == f"{parts - 2}/{parts - 2}", "the service and its credentials"
    assert "cinder" not in fewer.services


def test_network_of_a_disabled_neutron_is_not_created() -> None:
    assert "OVNCluster/ovn" not in applied(a_ready_one(services__neutron__enabled=False))


def test_service_that_is_off_by_default_is_deployed_when_enabled() -> None:
    assert "Barbican/barbican" not in applied(a_ready_one())
    plane = a_ready_one(services__barbican__enabled=True)
    assert {"Barbican/barbican", "User/barbican-service-user"} <= applied(plane)
    assert isinstance(plane.plan().verdict, Ready)


def switched(plane: Simulation, *, on: bool) -> None:
    plane.live = objects.changed(plane.live, {"spec.services.cinder.enabled": on})


def removed(plane: Simulation) -> set[str]:
    return {each.kind.kind for each in plane.plan().removals}


def test_service_that_is_switched_on_and_off_while_it_is_removed_keeps_the_order() -> None:
    plane = without_cinder()
    del plane.objects[cinder.KIND, key("cinder")]
    rotation = plane.objects[ROTATION, key("cinder-app-credential")]
    rotation["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert removed(plane) == {"CredentialRotation"}, "its user has to revoke the credential"
    switched(plane, on=True)
    assert removed(plane) == set()
    assert not isinstance(plane.plan().verdict, Ready), "the old credential is being revoked"
    switched(plane, on=False)
    assert removed(plane) == {"CredentialRotation"}
    del plane.objects[ROTATION, key("cinder-app-credential")]
    assert removed(plane) >= {"User", "RoleAssignment"}
    switched(plane, on=True)
    plane.desired.clear()
    assert isinstance(plane.converge().verdict, Ready)
