import pytest

from cobaltcore.api import ovn
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, SERVICE
from cobaltcore.engine.verdict import DependencyPending
from cobaltcore.runtime.meta import Key, Object
from tests.support import openstack, planning

ENDPOINTS = {
    "northbound": "ssl:ovn-nb.ovn-system.svc.cluster.local:6641",
    "southbound": "ssl:ovn-sb.ovn-system.svc.cluster.local:6642",
}
OF_CLUSTER = {"enabled": True, "clusterRef": {"name": "ovn", "namespace": "ovn-system"}}


def an_ovn_cluster(**status: object) -> Object:
    return {"metadata": {"name": "ovn", "namespace": "ovn-system"}, "status": status}


def test_ml2_and_ovn_follow_the_spec() -> None:
    scope = planning.scope(planning.an_object("Neutron"))
    found = planning.options(scope, "ml2_conf.ini")
    assert found["ml2"]["type_drivers"] == "geneve,vlan,flat"
    assert found["ml2"]["tenant_network_types"] == "geneve"
    assert found["ml2"]["mechanism_drivers"] == "ovn"
    assert found["ml2_type_geneve"] == {"vni_ranges": "1:65536", "max_header_size": "38"}
    assert found["ovn"]["ovn_nb_connection"] == "ssl:ovn-nb.ovn-system:6641"
    assert found["ovn"]["ovn_sb_ca_cert"] == "/etc/ovn-tls/ca.crt"
    assert found["ovn"]["dns_servers"] == "0.0.0.0,::", "servers do not get the pod's resolver"
    assert "ml2" not in planning.options(scope, "neutron.conf")


def test_connections_come_from_the_ovn_cluster_where_they_are_not_set() -> None:
    neutron = planning.an_object("Neutron", ovn=OF_CLUSTER)
    cluster = (ovn.CLUSTER, an_ovn_cluster(endpoints=ENDPOINTS))
    found = planning.options(planning.scope(neutron, cluster), "ml2_conf.ini")
    assert found["ovn"]["ovn_nb_connection"] == ENDPOINTS["northbound"]
    assert found["ovn"]["ovn_sb_connection"] == ENDPOINTS["southbound"]


@pytest.mark.parametrize(
    ("configured", "whole"),
    [
        ("tcp:ovn-nb.ovn-system:6641", "tcp:ovn-nb.ovn-system.svc.cluster.local:6641"),
        ("tcp:near:6641", "tcp:near.openstack.svc.cluster.local:6641"),
        ("tcp:other.there.svc:6641", "tcp:other.there.svc.cluster.local:6641"),
        ("tcp:ovn.example:6641,tcp:[::1]:6641", "tcp:ovn.example:6641,tcp:[::1]:6641"),
        ("tcp:nb.ovn.example.com:6641", "tcp:nb.ovn.example.com:6641"),
        ("tcp:10.0.0.1:6641", "tcp:10.0.0.1:6641"),
    ],
)
def test_addresses_of_services_become_fully_qualified(configured: str, whole: str) -> None:
    connections = {"enabled": True, "nbConnection": configured, "sbConnection": configured}
    known = [
        (SERVICE, {"metadata": {"name": name, "namespace": namespace}})
        for namespace, name in (("ovn-system", "ovn-nb"), ("openstack", "near"))
    ]
    scope = planning.scope(planning.an_object("Neutron", ovn=connections), *known)
    found = planning.options(scope, "ml2_conf.ini")["ovn"]
    assert (found["ovn_nb_connection"], found["ovn_sb_connection"]) == (whole, whole)


def test_neutron_looks_again_when_a_service_that_it_names_appears() -> None:
    scope = planning.scope(planning.an_object("Neutron"))
    named = set(scope.service.references(scope.key, scope.spec))
    assert {(SERVICE, Key("ovn-system", name)) for name in ("ovn-nb", "ovn-sb")} <= named


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "OVNCluster ovn-system/ovn does not exist"),
        ([(ovn.CLUSTER, an_ovn_cluster())], "reports no endpoints yet"),
    ],
)
def test_an_ovn_that_is_not_there_is_waited_for(
    others: list[tuple[object, Object]], message: str
) -> None:
    scope = planning.scope(planning.an_object("Neutron", ovn=OF_CLUSTER), *others)  # type: ignore[arg-type]
    with pytest.raises(DependencyPending, match=message):
        planning.rendered(scope)


def test_workers_run_in_pods_next_to_the_api() -> None:
    found = planning.of_kind(
        planning.everything(planning.scope(planning.an_object("Neutron"))), DEPLOYMENT
    )
    assert sorted(found) == [
        "neutron-api", "neutron-ovn-maintenance-worker", "neutron-periodic-workers",
    ]  # fmt: skip


def test_metadata_agents_run_on_hypervisors_with_what_is_theirs_alone() -> None:
    scope = planning.scope(planning.an_object("Neutron"))
    found = planning.of_kind(planning.everything(scope), DAEMON_SET)
    pod = found["neutron-metadata-agent"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"node-role.kubernetes.io/hypervisor": ""}
    assert pod["hostNetwork"] is True
    (container,) = pod["containers"]
    fields = {each["name"]: each.get("valueFrom") for each in container["env"]}
    assert fields["OS_DEFAULT__HOST"] == {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}
    }
    options = planning.options(scope, "neutron.conf", "agent")
    assert options["DEFAULT"]["nova_metadata_host"] == "nova-metadata.openstack.svc.cluster.local"
    assert options["DEFAULT"]["nova_metadata_port"] == "8775"
    assert options["ovs"]["ovsdb_connection"] == "unix:/run/openvswitch/db.sock"
    secrets = planning.secret_options(scope, "agent")
    assert secrets == {"DEFAULT": {"metadata_proxy_shared_secret": openstack.PRIVATE}}


def test_agents_wait_for_the_secret_that_nova_makes() -> None:
    scope = planning.scope(planning.an_object("Neutron"))
    for (_, key), content in scope.observed.contents.items():
        if key.name == "nova-metadata":
            content["data"].clear()
    assert "metadata-agent" not in [each.component for each in scope.workloads]


def test_metadata_agents_take_the_sections_of_extra_config_that_they_read() -> None:
    extra = {"DEFAULT": {"debug": "true"}, "ml2_type_vlan": {"network_vlan_ranges": "a:1:2"}}
    scope = planning.scope(planning.an_object("Neutron", extraConfig=extra))
    found = planning.options(scope, "neutron.conf", "agent")
    assert found["DEFAULT"]["debug"] == "true"
    assert "ml2_type_vlan" not in found
