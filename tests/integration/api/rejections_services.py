"""Hand-written invalid objects of Barbican, Glance, Placement, Nova, Neutron and Cinder.

Every case starts from the first document of `examples/<kind>.yaml` and changes a few fields of it.
"""

from typing import Final

from tests.support.rejections import REMOVED, Rejection

KINDS = ("barbican", "glance", "placement", "nova", "neutron", "cinder")
SECRET = {"name": "x"}


def _shared(kind: str) -> list[Rejection]:
    """Rules that hold for every service, each shown on a service that has other examples."""
    return [
        Rejection(
            kind,
            {"spec.tls": {"enabled": True, "issuerRef": SECRET, "secretRef": SECRET}},
            "at most one of issuerRef and secretRef",
        ),
        Rejection(
            kind, {"spec.tls": {"issuerRef": {"name": "x", "kind": "CA"}}}, "issuerRef.kind"
        ),
        Rejection(
            kind,
            {"spec.preStopSleepSeconds": 30},
            "preStopSleepSeconds: must be less than terminationGracePeriodSeconds",
        ),
        Rejection(
            kind,
            {"spec.extraConfig": {"database": {"connection": "mysql://me:secret@db/x"}}},
            "come from Secrets and cannot be set here",
        ),
        Rejection(
            kind,
            {"spec.extraConfig": {"DEFAULT": {"transport_url": "rabbit://me:secret@mq"}}},
            "come from Secrets and cannot be set here",
        ),
        Rejection(
            kind,
            {"spec.extraConfig": {"keystone_authtoken": {"application_credential_secret": "s"}}},
            "come from Secrets and cannot be set here",
        ),
        Rejection(kind, {"spec.extraConfig": {"": {"debug": "true"}}}, "a section needs a name"),
        Rejection(kind, {"spec.policyOverrides": {"rules": {}}}, "spec.policyOverrides.rules"),
        Rejection(kind, {"spec.keystone.caSecretRef": {}}, "spec.keystone.caSecretRef.name"),
        Rejection(kind, {"spec.keystone.region": "Region One"}, "spec.keystone.region"),
        Rejection(kind, {"spec.deletionPolicy": "Keep"}, "spec.deletionPolicy"),
        Rejection(
            kind,
            {"spec.tolerations": [{"operator": "Exists", "value": "yes"}]},
            "value: only allowed with operator Equal",
        ),
    ]


def _barbican() -> list[Rejection]:
    kind, store = "barbican", "spec.secretStore"
    return [
        Rejection(kind, {f"{store}.plugin": "vault_plugin"}, "spec.secretStore.plugin"),
        Rejection(kind, {f"{store}.kekSecretRef": {}}, "secretStore.kekSecretRef.name"),
        Rejection(
            kind,
            {f"{store}.kekSecretRef": SECRET},
            "kekSecretRef: cannot be set or unset later",
            "update",
        ),
        Rejection(kind, {"spec.messaging.clusterRef": REMOVED}, "exactly one of clusterRef and"),
        Rejection(kind, {"spec.database.database": "other"}, "database is immutable", "update"),
        Rejection(kind, {"spec.replicas": 0}, "spec.replicas"),
    ]


def _glance() -> list[Rejection]:
    kind, rbd = "glance", "spec.storage.rbd"
    return [
        Rejection(kind, {f"{rbd}.pool": "other"}, "storage.rbd.pool is immutable", "update"),
        Rejection(kind, {f"{rbd}.user": "client.glance!"}, "spec.storage.rbd.user"),
        Rejection(kind, {f"{rbd}.cephSecretRef": {"name": "Not_A_Name"}}, "cephSecretRef.name"),
        Rejection(
            kind, {f"{rbd}.cephClientRef.namespace": "rook ceph"}, "cephClientRef.namespace"
        ),
        Rejection(
            kind,
            {"spec.storage": {"backend": "file", "file": {"size": "plenty"}}},
            "spec.storage.file.size",
        ),
        Rejection(
            kind,
            {"spec.storage": {"backend": "file", "file": {"storageClass": "Fast Disks"}}},
            "spec.storage.file.storageClass",
        ),
        Rejection(kind, {"spec.cache": {"servers": []}}, "spec.cache.servers"),
    ]


def _nova() -> list[Rejection]:
    kind, compute = "nova", "spec.compute"
    key = {"user": "cinder", "secretRef": SECRET}
    return [
        Rejection(kind, {"spec.cells.0.name": "other"}, "first cell cannot be another", "update"),
        Rejection(
            kind,
            {"spec.cells": [{"name": "a", "database": "x"}, {"name": "b", "database": "x"}]},
            "every cell needs a database of its own",
        ),
        Rejection(kind, {"spec.cells.0.database": "nova_cell0"}, "cannot use the API database"),
        Rejection(kind, {"spec.cells.0.computeRef": {}}, "spec.cells[0].computeRef.name"),
        Rejection(kind, {f"{compute}.volumeKeys": [key, key]}, "spec.compute.volumeKeys[1]"),
        Rejection(
            kind, {f"{compute}.volumeKeys": [{"user": "cinder"}]}, "volumeKeys[0].secretRef"
        ),
        Rejection(kind, {f"{compute}.volumeKeys": [{**key, "user": "a b"}]}, "volumeKeys[0].user"),
        Rejection(
            kind, {f"{compute}.libvirtImage": {"repository": "x"}}, "exactly one of tag and digest"
        ),
        Rejection(kind, {f"{compute}.nodeSelector": {}}, "spec.compute.nodeSelector"),
        Rejection(kind, {"spec.metadata.sharedSecretRef": {}}, "metadata.sharedSecretRef.name"),
        Rejection(kind, {"spec.metadata.replicas": -1}, "spec.metadata.replicas"),
        Rejection(kind, {"spec.conductor.replicas": 101}, "spec.conductor.replicas"),
        Rejection(
            kind,
            {"spec.scheduler.externalScheduler.endpoint": "cortex:8080"},
            "externalScheduler.endpoint",
        ),
        Rejection(
            kind,
            {"status": {"cells": [{"name": "cell1", "computeNodes": "many"}]}},
            "status.cells[0].computeNodes",
            "status",
        ),
    ]


def _neutron() -> list[Rejection]:
    kind, agent = "neutron", "spec.metadataAgent"
    return [
        Rejection(kind, {agent: {"enabled": "yes"}}, "spec.metadataAgent.enabled"),
        Rejection(kind, {agent: {"sharedSecretRef": {}}}, "metadataAgent.sharedSecretRef.name"),
        Rejection(
            kind, {agent: {"novaMetadataUrl": "nova:8775"}}, "metadataAgent.novaMetadataUrl"
        ),
        Rejection(kind, {agent: {"nodeSelector": {}}}, "spec.metadataAgent.nodeSelector"),
        Rejection(
            kind,
            {agent: {"tolerations": [{"operator": "Equal", "value": "x"}]}},
            "key: required with operator Equal",
        ),
        Rejection(kind, {"spec.ovn.clusterRef": {}}, "spec.ovn.clusterRef.name"),
        Rejection(kind, {"spec.ovn.tlsSecretRef.key": "a/b"}, "spec.ovn.tlsSecretRef.key"),
        Rejection(kind, {"spec.ovn.sbConnection": "ssl:[fe80::1:6642"}, "must be tcp:HOST:PORT"),
        Rejection(kind, {"spec.ml2.extensionDrivers": ["Port Security"]}, "extensionDrivers[0]"),
        Rejection(kind, {"spec.ml2.tenantNetworkTypes": []}, "spec.ml2.tenantNetworkTypes"),
        Rejection(kind, {"spec.api.replicas": 0}, "spec.api.replicas"),
    ]


def _cinder() -> list[Rejection]:
    kind, backend = "cinder", "spec.backends.0"
    return [
        Rejection(kind, {f"{backend}.rbd.pool": "x"}, "rbd.pool is immutable", "update"),
        Rejection(kind, {f"{backend}.rbd.pool": REMOVED}, "spec.backends[0].rbd.pool"),
        Rejection(
            kind, {f"{backend}.config": {"volume_driver": "a.B"}}, "follow from driver and name"
        ),
        Rejection(
            kind,
            {"spec.backends.1.config.volume_backend_name": "x"},
            "follow from driver and name",
        ),
        Rejection(kind, {f"{backend}.name": "keystone_authtoken"}, "that cinder.conf has already"),
        Rejection(kind, {f"{backend}.name": "-ceph"}, "spec.backends[0].name"),
        Rejection(kind, {"spec.backends.1.driver": "no class"}, "spec.backends[1].driver"),
        Rejection(kind, {"spec.defaultVolumeType": "a/b"}, "spec.defaultVolumeType"),
        Rejection(kind, {"spec.scheduler.replicas": 0}, "spec.scheduler.replicas"),
        Rejection(kind, {"spec.messaging.virtualHost": ""}, "spec.messaging.virtualHost"),
        Rejection(
            kind, {"spec.volume.priorityClassName": "Very High"}, "volume.priorityClassName"
        ),
    ]


REJECTIONS: Final = [
    *(each for kind in KINDS for each in _shared(kind)),
    *_barbican(),
    *_glance(),
    *_nova(),
    *_neutron(),
    *_cinder(),
]
