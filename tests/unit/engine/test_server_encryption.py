"""Connections to database and broker with `tls`: encrypted, checked, and nothing else of the Secret."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cobaltcore.api.foreign import mariadb
from cobaltcore.engine import databases, oslo
from cobaltcore.engine.definition import AnyScope
from cobaltcore.engine.verdict import Waiting
from tests.support import planning
from tests.unit.engine.test_databases import without

TLS = {"caSecretRef": {"name": "server-ca"}}
KEY = "password"
"""Of a Secret with other keys, whatever is in it."""
ON_CLUSTER = {
    "clusterRef": {"name": "mariadb"},
    "database": "nova",
    "secretRef": {"name": "nova-db"},
}
BROKER = {"clusterRef": {"name": "rabbitmq"}, "secretRef": {"name": "nova-mq"}}


def a_nova(**tls: Any) -> AnyScope:
    database, messaging = {**ON_CLUSTER, **tls}, {**BROKER, **tls}
    return planning.scope(planning.an_object("Nova", database=database, messaging=messaging))


def volumes(scope: AnyScope) -> dict[str, Any]:
    (job,) = (
        each for each in databases.synced(scope).objects if each.kind.kind in ("Job", "Deployment")
    )
    return {each["name"]: each for each in job.body["spec"]["template"]["spec"]["volumes"]}


def test_addresses_name_the_authority_and_have_hosts_checked() -> None:
    for section in oslo.database_secrets(a_nova(tls=TLS)).values():
        query = parse_qs(urlsplit(section["connection"]).query)
        assert query["ssl_ca"] == ["/etc/ssl/database/ca.crt"]
        assert query["ssl_check_hostname"] == ["true"]


def test_the_broker_is_reached_at_its_encrypted_port() -> None:
    scope = a_nova(tls=TLS)
    address = oslo.messaging_secrets(scope)["DEFAULT"]["transport_url"]
    assert "@rabbitmq.openstack.svc:5671/" in address
    for name in ("", "compute"):
        section = planning.options(scope, "nova.conf", name)["oslo_messaging_rabbit"]
        assert section["ssl"] == "true"
        assert section["ssl_ca_file"] == "/etc/ssl/messaging/ca.crt"


def test_without_tls_nothing_of_it_is_configured() -> None:
    scope = a_nova()
    assert "ssl" not in str(oslo.backend_secrets(scope))
    address = oslo.messaging_secrets(scope)["DEFAULT"]["transport_url"]
    assert "@rabbitmq.openstack.svc:5672/" in address
    assert "ssl" not in planning.options(scope, "nova.conf")["oslo_messaging_rabbit"]


@pytest.mark.parametrize(("tls", "required"), [({"tls": TLS}, {"ssl": True}), ({}, None)])
def test_the_user_can_log_in_encrypted_only(tls: dict[str, Any], required: object) -> None:
    objects = databases.synced(a_nova(**tls)).objects
    (user,) = (each for each in objects if each.kind == mariadb.USER)
    assert user.body["spec"].get("require") == required


def test_pods_see_the_certificate_of_the_authority_only() -> None:
    external = planning.with_external_database(
        planning.an_object("Placement", **{"database.tls.caSecretRef": {"name": "ca", "key": KEY}})
    )
    found = volumes(planning.scope(external))["database-ca"]["secret"]
    assert found["secretName"] == "ca"
    assert found["items"] == [{"key": KEY, "path": "ca.crt"}]


def test_the_database_waits_for_the_authority() -> None:
    verdict = databases.synced(without(a_nova(tls=TLS), "server-ca")).verdict
    assert isinstance(verdict, Waiting)
    assert "Secret 'server-ca' (CA of the database server) does not exist" in verdict.message
