"""What a ControlPlane creates when, from its dependency graph."""

from cobaltcore.api import keystone
from cobaltcore.api.foreign import mariadb
from cobaltcore.engine.verdict import Ready
from tests.support.control_planes import a_control_plane, a_ready_one, applied, unready

INFRASTRUCTURE = {
    "MariaDB/mariadb",
    "Secret/mariadb-root",
    "OVNCluster/ovn",
    "PodDisruptionBudget/memcached",
    "RabbitmqCluster/rabbitmq",
    "Service/memcached",
    "StatefulSet/memcached",
}


def test_only_infrastructure_is_applied_when_nothing_is_ready() -> None:
    found = {each for each in applied(a_control_plane()) if not each.startswith("NetworkPolicy/")}
    assert found == INFRASTRUCTURE


def test_keystone_and_services_start_when_database_and_cache_are_ready() -> None:
    plane = a_control_plane()
    plane.apply(plane.plan())
    kinds = {each.kind.kind for each in plane.plan().objects}
    assert {"Keystone", "Glance", "Nova"} <= kinds
    assert not {"User", "Endpoint", "CredentialRotation"} & kinds


def test_credentials_wait_for_keystone() -> None:
    plane = a_ready_one()
    unready(plane, keystone.KIND, "keystone")
    plan = plane.plan()
    assert not any(each.kind.kind == "User" for each in plan.objects)


def test_objects_of_waiting_parts_are_neither_changed_nor_pruned() -> None:
    plane = a_ready_one()
    unready(plane, mariadb.MARIADB, "mariadb")
    plan = plane.plan()
    assert {(each.kind, each.key) for each in plan.objects} | set(plan.keep) == set(plane.desired)


def test_everything_ready_is_ready() -> None:
    assert isinstance(a_ready_one().plan().verdict, Ready)
