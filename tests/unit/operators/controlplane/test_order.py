"""What a ControlPlane creates when, from its dependency graph."""

from cobaltcore.api import keystone
from cobaltcore.api.foreign import mariadb
from cobaltcore.engine.verdict import Ready
from tests.support.control_planes import (
    a_certified_one,
    a_control_plane,
    a_ready_one,
    applied,
    unready,
)
from tests.support.simulation import Simulation

CACHE = {"PodDisruptionBudget/memcached", "Service/memcached", "StatefulSet/memcached"}
CERTIFICATES = {
    "Issuer/c5c3-root",
    "Certificate/c5c3-ca",
    "Issuer/c5c3-ca",
    "Certificate/mariadb-tls",
    "Certificate/rabbitmq-tls",
}
SERVERS = {"MariaDB/mariadb", "Secret/mariadb-root", "OVNCluster/ovn", "RabbitmqCluster/rabbitmq"}


def without_policies(plane: Simulation) -> set[str]:
    return {each for each in applied(plane) if not each.startswith("NetworkPolicy/")}


def test_servers_start_when_their_certificates_are_issued() -> None:
    plane = a_control_plane()
    assert without_policies(plane) == {*CERTIFICATES, *CACHE}
    plane.apply(plane.plan())
    assert applied(plane) >= {*CERTIFICATES, *CACHE, *SERVERS}


def test_without_encryption_servers_start_at_once() -> None:
    assert without_policies(a_control_plane(**{"global.tls.enabled": False})) == {*CACHE, *SERVERS}


def test_keystone_and_services_start_when_database_and_cache_are_ready() -> None:
    plane = a_certified_one()
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
