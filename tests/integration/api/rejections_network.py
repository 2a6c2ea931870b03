"""Hand-written invalid objects of the kinds of the virtual network, with what the answer must contain.

Every case starts from the first document of `examples/<kind>.yaml` and changes a few fields of it.
"""

from typing import Final

from tests.support.rejections import REMOVED, Rejection

CLUSTER, CHASSIS, NODE = "ovncluster", "ovnchassis", "ovsnode"


def _ovn() -> list[Rejection]:
    cluster, chassis = "ovncluster", "ovnchassis"
    mapping = {"physicalNetwork": "a", "bridge": "br-a"}
    return [
        *(
            Rejection(cluster, {f"spec.{database}.replicas": count}, f"spec.{database}.replicas")
            for database in ("northbound", "southbound")
            for count in (0, 2, 4, 7)
        ),
        Rejection(cluster, {"spec.northbound.storage.size": "big"}, "northbound.storage.size"),
        Rejection(
            cluster,
            {"spec.northbound.storage.storageClass": "other"},
            "storageClass is immutable",
            "update",
        ),
        Rejection(
            cluster,
            {"spec.neutronIntegration.sbConnection.service.name": "ovn-nb"},
            "need Services of different names",
        ),
        Rejection(
            cluster,
            {"spec.neutronIntegration.nbConnection.service.port": 70000},
            "nbConnection.service.port",
        ),
        Rejection(cluster, {"spec.tls.issuerRef": {"name": "a"}}, "at most one of certSecretRef"),
        Rejection(cluster, {"spec.ovs.datapath": "dpdk"}, "spec.ovs.datapath"),
        Rejection(cluster, {"spec.controller.encapsulation": "gre"}, "spec.controller.encapsulation"),
        Rejection(
            cluster,
            {"spec.controller.bridgeMappings": [mapping, mapping | {"physicalNetwork": "b"}]},
            "a bridge can serve one physical network only",
        ),
        Rejection(cluster, {"spec.ovnImage": REMOVED}, "spec.ovnImage"),
        Rejection(chassis, {"spec.encapsulation.ip": "10.0.1"}, "must be an IPv4 or IPv6 address"),
        Rejection(chassis, {"spec.encapsulation.ip": "host"}, "must be an IPv4 or IPv6 address"),
        Rejection(chassis, {"spec.encapsulation.type": "stt"}, "spec.encapsulation.type"),
        Rejection(chassis, {"spec.encapsulation": REMOVED}, "spec.encapsulation"),
        Rejection(chassis, {"spec.hostname": "other"}, "hostname is immutable", "update"),
        Rejection(chassis, {"spec.systemId": "other"}, "systemId is immutable", "update"),
        Rejection(chassis, {"spec.bridgeMappings": [mapping, mapping]}, "spec.bridgeMappings[1]"),
        Rejection(chassis, {"spec.bridgeMappings.0.bridge": "br-external"}, "a bridge can serve one"),
        Rejection(
            chassis, {"spec.bridgeMappings.0.bridge": "br-a-very-long-name"}, "bridgeMappings[0].bridge"
        ),
        Rejection(
            chassis, {"spec.bridgeMappings.0.physicalNetwork": "a:b"}, "bridgeMappings[0].physicalNetwork"
        ),
    ]  # fmt: skip


def _cluster() -> list[Rejection]:
    connection = "spec.neutronIntegration.nbConnection.service"
    return [
        Rejection(CLUSTER, {"spec.northbound.replicas": 1}, "servers can be added but", "update"),
        Rejection(CLUSTER, {"spec.southbound.replicas": 1}, "servers can be added but", "update"),
        Rejection(CLUSTER, {"spec.tls.enabled": False}, "tls.enabled: can change only", "update"),
        Rejection(CLUSTER, {"spec.northbound.replicas": "3"}, "spec.northbound.replicas"),
        Rejection(CLUSTER, {"spec.southbound.storage.size": "-1Gi"}, "southbound.storage.size"),
        Rejection(CLUSTER, {"spec.northbound.storage.storageClass": "A b"}, "storage.storageClass"),
        Rejection(CLUSTER, {"spec.northd.replicas": 0}, "spec.northd.replicas"),
        Rejection(CLUSTER, {"spec.northd.replicas": 101}, "spec.northd.replicas"),
        Rejection(CLUSTER, {"spec.deletionPolicy": "Orphan"}, "spec.deletionPolicy"),
        Rejection(CLUSTER, {"spec.ovsImage": REMOVED}, "spec.ovsImage"),
        Rejection(CLUSTER, {"spec.ovnImage.repository": "r/UPPER"}, "spec.ovnImage.repository"),
        Rejection(CLUSTER, {"spec.ovnImage.tag": "a b"}, "spec.ovnImage.tag"),
        Rejection(CLUSTER, {"spec.ovs.nodeSelector": {}}, "spec.ovs.nodeSelector"),
        Rejection(CLUSTER, {"spec.controller.nodeSelector": []}, "spec.controller.nodeSelector"),
        Rejection(CLUSTER, {"spec.ovs.datapath": "kernel"}, "spec.ovs.datapath"),
        Rejection(CLUSTER, {"spec.ovs.priorityClassName": "Big One"}, "ovs.priorityClassName"),
        Rejection(
            CLUSTER,
            {"spec.ovs.tolerations": [{"operator": "Exists", "value": "a"}]},
            "value: only allowed with operator Equal",
        ),
        Rejection(
            CLUSTER,
            {"spec.controller.bridgeMappings": [{"physicalNetwork": "a"}]},
            "controller.bridgeMappings[0].bridge",
        ),
        Rejection(
            CLUSTER,
            {"spec.controller.bridgeMappings": [{"bridge": "br-a"}]},
            "controller.bridgeMappings[0].physicalNetwork",
        ),
        Rejection(
            CLUSTER, {"spec.controller.bridgeMappings.0.bridge": "br ex"}, "bridgeMappings[0].bridge"
        ),
        Rejection(CLUSTER, {f"{connection}.port": 0}, "nbConnection.service.port"),
        Rejection(CLUSTER, {f"{connection}.name": "OVN"}, "nbConnection.service.name"),
        Rejection(CLUSTER, {f"{connection}.name": REMOVED}, "nbConnection.service.name"),
        Rejection(CLUSTER, {"spec.tls.enabled": "yes"}, "spec.tls.enabled"),
        Rejection(CLUSTER, {"spec.tls.certSecretRef": {}}, "spec.tls.certSecretRef"),
        Rejection(CLUSTER, {"spec.replicas": 3}, "spec.replicas"),
        Rejection(
            CLUSTER, {"status": {"chassisCount": "many"}}, "status.chassisCount", "status"
        ),
        Rejection(
            CLUSTER, {"status": {"endpoints": {"northbound": 6641}}}, "endpoints.northbound", "status"
        ),
    ]  # fmt: skip


def _chassis() -> list[Rejection]:
    return [
        Rejection(CHASSIS, {"spec.hostname": REMOVED}, "spec.hostname"),
        Rejection(CHASSIS, {"spec.hostname": "Node_1"}, "spec.hostname"),
        Rejection(CHASSIS, {"spec.systemId": REMOVED}, "spec.systemId"),
        Rejection(CHASSIS, {"spec.systemId": ""}, "spec.systemId"),
        Rejection(CHASSIS, {"spec.systemId": "a b"}, "spec.systemId"),
        Rejection(CHASSIS, {"spec.encapsulation.ip": REMOVED}, "spec.encapsulation.ip"),
        Rejection(CHASSIS, {"spec.encapsulation.ip": "10.0.1.100/24"}, "must be an IPv4 or IPv6"),
        Rejection(CHASSIS, {"spec.encapsulation.ip": "10.0.1.256"}, "must be an IPv4 or IPv6"),
        Rejection(CHASSIS, {"spec.encapsulation.ip": 10}, "spec.encapsulation.ip"),
        Rejection(CHASSIS, {"spec.bridgeMappings": "a:br-a"}, "spec.bridgeMappings"),
        Rejection(CHASSIS, {"spec.bridges": []}, "spec.bridges"),
        Rejection(
            CHASSIS, {"status": {"lastHeartbeat": "now"}}, "status.lastHeartbeat", "status"
        ),
        Rejection(CHASSIS, {"status": {"registeredAt": 5}}, "status.registeredAt", "status"),
    ]  # fmt: skip


def _switch() -> list[Rejection]:
    return [
        Rejection(NODE, {"spec": REMOVED}, "spec: Required value"),
        Rejection(NODE, {"spec.nodeRef": "node"}, "spec.nodeRef"),
        Rejection(NODE, {"status.dpdkEnabled": "no"}, "status.dpdkEnabled", "status"),
        Rejection(NODE, {"status.ovnController": {}}, "ovnController.connected", "status"),
        Rejection(
            NODE, {"status.flowStats.flowsPerTable": [{"flows": 1}]}, "flowsPerTable[0].table", "status"
        ),
        Rejection(NODE, {"status.metrics.drops": 1.5}, "status.metrics.drops", "status"),
    ]  # fmt: skip


REJECTIONS: Final = [*_ovn(), *_cluster(), *_chassis(), *_switch()]
