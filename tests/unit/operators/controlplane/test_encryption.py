"""What a ControlPlane encrypts, and who signs."""

from typing import Any

from cobaltcore.api import keystone, nova
from cobaltcore.api.foreign import certmanager, mariadb, rabbitmq
from cobaltcore.runtime.meta import Kind
from tests.support.control_planes import a_control_plane, a_ready_one, applied
from tests.support.simulation import Simulation

ISSUER = {"name": "corporate", "kind": "ClusterIssuer"}
OFF = {"global.tls.enabled": False}


def spec(plane: Simulation, kind: Kind, name: str) -> Any:
    (found,) = (e for e in plane.plan().objects if e.kind == kind and e.key.name == name)
    return found.body["spec"]


def test_servers_accept_encrypted_connections_only() -> None:
    plane = a_ready_one()
    database = spec(plane, mariadb.MARIADB, "mariadb")["tls"]
    assert (database["enabled"], database["required"]) == (True, True)
    assert database["serverCertSecretRef"] == {"name": "mariadb-tls"}
    broker = spec(plane, rabbitmq.CLUSTER, "rabbitmq")["tls"]
    assert broker == {"secretName": "rabbitmq-tls", "disableNonTLSListeners": True}


def test_services_trust_the_authority_of_each_server() -> None:
    found = spec(a_ready_one(), nova.KIND, "nova")
    assert found["database"]["tls"] == {"caSecretRef": {"name": "mariadb-tls"}}
    assert found["messaging"]["tls"] == {"caSecretRef": {"name": "rabbitmq-tls"}}


def test_a_certificate_is_valid_for_every_name_of_its_server() -> None:
    names = spec(a_control_plane(), certmanager.CERTIFICATE, "mariadb-tls")["dnsNames"]
    assert {
        "mariadb.openstack.svc",
        "mariadb-primary.openstack.svc",
        "*.mariadb-internal.openstack.svc.cluster.local",
    } <= set(names)


def test_a_given_issuer_signs_everything() -> None:
    plane = a_ready_one(**{"global.tls.issuerRef": ISSUER})
    assert "Issuer/c5c3-ca" not in applied(plane)
    for name in ("mariadb-tls", "rabbitmq-tls"):
        assert spec(plane, certmanager.CERTIFICATE, name)["issuerRef"] == ISSUER
    assert spec(plane, keystone.KIND, "keystone")["tls"]["issuerRef"]["name"] == "corporate"


def test_encryption_can_be_switched_off_deliberately() -> None:
    plane = a_ready_one(**OFF)
    assert not {each for each in applied(plane) if "Certificate/" in each or "Issuer/" in each}
    assert spec(plane, mariadb.MARIADB, "mariadb")["tls"] == {"enabled": False}
    assert "tls" not in spec(plane, rabbitmq.CLUSTER, "rabbitmq")
    found = spec(plane, nova.KIND, "nova")
    assert "tls" not in {*found["database"], *found["messaging"]}
    assert "tls" not in found
