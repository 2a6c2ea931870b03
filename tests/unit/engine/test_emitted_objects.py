"""Objects of third-party kinds that services emit are in the real operators' language."""

from typing import Any

import jsonschema
import pytest

from cobaltcore.engine import definitions
from cobaltcore.runtime.meta import Desired
from tests.support import planning
from tests.support.real_schemas import SCHEMAS, real_schema

CLUSTERS = {
    "database__clusterRef": {"name": "mariadb"},
    "tls": {"enabled": True, "issuerRef": {"name": "ca", "kind": "Issuer"}},
}
BROKER = {"clusterRef": {"name": "rabbitmq"}, "secretRef": {"name": "broker"}}
GROUPS = ("k8s.mariadb.com", "rabbitmq.com", "cert-manager.io")


def emitted(kind: str) -> list[Desired]:
    changes: dict[str, Any] = dict(CLUSTERS)
    if kind in {"Nova", "Neutron", "Cinder"}:
        changes["messaging"] = BROKER
    if kind == "Nova":
        changes["cells"] = [{"name": "cell1"}, {"name": "cell2"}]
    obj = planning.an_object(kind, **changes)
    obj["spec"]["database"].pop("host", None)
    obj["spec"]["database"].pop("port", None)
    return planning.everything(planning.scope(obj))


@pytest.mark.parametrize("kind", sorted(each.kind.kind for each in definitions.services()))
def test_the_real_operators_know_every_field(kind: str) -> None:
    foreign = [each for each in emitted(kind) if each.kind.group in GROUPS]
    assert {each.kind.group for each in foreign} >= {"k8s.mariadb.com", "cert-manager.io"}
    for each in foreign:
        schema = real_schema(each.kind)
        assert (schema is None) == (not SCHEMAS.is_dir())
        if schema is not None:
            body = {"apiVersion": each.kind.api_version, "kind": each.kind.kind, **each.body}
            jsonschema.validate(body, schema)


def test_databases_of_one_service_share_one_user() -> None:
    found = [each for each in emitted("Nova") if each.kind.group == "k8s.mariadb.com"]
    names = [(each.kind.kind, each.key.name) for each in found]
    assert [name for kind, name in names if kind == "User"] == ["nova"]
    assert sorted(name for kind, name in names if kind == "Database") == [
        "nova", "nova-api", "nova-cell0", "nova-cell2",
    ]  # fmt: skip
    assert sorted(name for kind, name in names if kind == "Grant") == [
        "nova", "nova-api", "nova-cell0", "nova-cell2",
    ]  # fmt: skip


def test_an_endpoints_certificate_names_every_service() -> None:
    (found,) = [each for each in emitted("Nova") if each.key.name == "nova-tls"]
    assert found.body["spec"]["dnsNames"] == [
        "nova",
        "nova.openstack",
        "nova.openstack.svc",
        "nova.openstack.svc.cluster.local",
        "nova-metadata",
        "nova-metadata.openstack",
        "nova-metadata.openstack.svc",
        "nova-metadata.openstack.svc.cluster.local",
        "nova-novncproxy",
        "nova-novncproxy.openstack",
        "nova-novncproxy.openstack.svc",
        "nova-novncproxy.openstack.svc.cluster.local",
        "nova-novncproxy-cell2",
        "nova-novncproxy-cell2.openstack",
        "nova-novncproxy-cell2.openstack.svc",
        "nova-novncproxy-cell2.openstack.svc.cluster.local",
    ]
