"""Servers of the lab with TLS: what they listen at, and who may log in."""

from typing import Any

import msgspec

from cobaltcore.api.foreign.mariadb import (
    MariaDBRef,
    MariaDBSpec,
    Require,
    SecretKeyRef,
    UserSpec,
)
from cobaltcore.api.foreign.rabbitmq import ClusterSpec
from cobaltcore.engine.desired import secret
from cobaltcore.runtime.meta import Object
from cobaltlab.providers import (
    mariadb_server,
    mariadb_sql,
    rabbitmq_objects,
    rabbitmq_server,
)

LIVE: Object = {"metadata": {"name": "mq", "namespace": "openstack", "uid": "u"}}


def a_server(**tls: Any) -> MariaDBSpec:
    spec = {
        "rootPasswordSecretKeyRef": {"name": "root", "key": "password"},
        "storage": {"size": "1Gi"},
        "tls": tls,
    }
    return msgspec.convert(spec, MariaDBSpec)


def a_broker(**tls: Any) -> ClusterSpec:
    return msgspec.convert({"tls": tls}, ClusterSpec)


def test_a_database_server_that_requires_tls_refuses_plain_connections() -> None:
    named = {"serverCertSecretRef": {"name": "mariadb-tls"}}
    required = mariadb_server.settings(a_server(enabled=True, required=True, **named))
    assert "ssl-cert = /etc/cobaltcore-tls/tls.crt" in required
    assert "require_secure_transport = ON" in required
    assert "require_secure_transport" not in mariadb_server.settings(
        a_server(enabled=True, **named)
    )
    assert "ssl-cert" not in mariadb_server.settings(a_server(enabled=False, **named))


def test_the_authority_is_that_of_the_certificate_unless_named() -> None:
    named = {"serverCertSecretRef": {"name": "mariadb-tls"}}
    assert mariadb_server.authority(a_server(enabled=True, **named)) == "mariadb-tls"
    other = {**named, "serverCASecretRef": {"name": "ca"}}
    assert mariadb_server.authority(a_server(enabled=True, **other)) == "ca"


def test_an_account_that_requires_tls_loses_that_when_the_spec_does() -> None:
    ref = SecretKeyRef(name="s", key="password")
    for require, wanted in ((Require(ssl=True), "REQUIRE SSL WITH"), (None, "REQUIRE NONE WITH")):
        spec = UserSpec(
            maria_db_ref=MariaDBRef(name="db"),
            name="nova",
            password_secret_key_ref=ref,
            require=require,
        )
        for statement in mariadb_sql.create_user(spec, "hidden"):
            assert wanted in statement.text


def test_a_broker_without_plain_listeners_has_encrypted_ports_only() -> None:
    spec = a_broker(secretName="rabbitmq-tls", disableNonTLSListeners=True)
    assert rabbitmq_server.client_ports(spec) == {"amqps": 5671, "management-tls": 15671}
    settings = rabbitmq_server.settings(spec)["rabbitmq.conf"]
    assert "listeners.tcp = none\n" in settings
    assert "listeners.tcp.default" not in settings
    assert "management.tcp" not in settings
    login = secret.texts(dict(rabbitmq_server.default_user(LIVE, spec, "hidden").body))
    assert login["port"] == "5671"
    assert login["connection_string"].startswith("amqps://")


def test_a_broker_may_listen_at_both() -> None:
    spec = a_broker(secretName="rabbitmq-tls")
    assert set(rabbitmq_server.client_ports(spec).values()) == {5671, 5672, 15671, 15672}
    assert rabbitmq_server.client_ports(ClusterSpec()) == rabbitmq_server.PLAIN_PORTS


def test_the_encrypted_management_api_is_preferred() -> None:
    ports = [{"port": 15672}, {"port": 15671}]
    service = {"spec": {"clusterIP": "10.0.0.1", "ports": ports}}
    assert rabbitmq_objects.management(service) == "https://10.0.0.1:15671"
    service["spec"]["ports"] = ports[:1]
    assert rabbitmq_objects.management(service) == "http://10.0.0.1:15672"
    assert rabbitmq_objects.management(None) == ""
