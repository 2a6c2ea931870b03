"""Hand-written invalid control planes and what belongs to them, with what the answer must contain.

Every case starts from the first document of `examples/<kind>.yaml` and changes a few fields of it.
"""

from typing import Final

from tests.support.rejections import REMOVED, Rejection

DIGEST = "sha256:" + "0" * 64


def _credentials() -> list[Rejection]:
    aggregate, rotation = "secretaggregate", "credentialrotation"
    source = {"secretRef": {"name": "nova-db-credentials"}}
    return [
        Rejection(aggregate, {"spec.sources": []}, "spec.sources"),
        Rejection(aggregate, {"spec.sources": [source, source]}, "each Secret may be listed once"),
        Rejection(
            aggregate, {"spec.target.name": "nova-db-credentials"}, "cannot be one of the sources"
        ),
        Rejection(aggregate, {"spec.target.name": "other"}, "name is immutable", "update"),
        Rejection(aggregate, {"spec.sources.0.keys": ["username"]}, "must also be in keys"),
        Rejection(aggregate, {"spec.sources.0.keys": ["a", "a"]}, "spec.sources[0].keys[1]"),
        Rejection(aggregate, {"spec.sources.0.keys": ["a/b"]}, "spec.sources[0].keys[0]"),
        Rejection(aggregate, {"spec.sources.1.rename": {"username": ""}}, "rename.username"),
        Rejection(rotation, {"spec.schedule.preRotationDays": 90}, "must be less than intervalDays"),
        Rejection(rotation, {"spec.schedule": {"intervalDays": 7}}, "must be less than intervalDays"),
        Rejection(rotation, {"spec.schedule.intervalDays": 0}, "spec.schedule.intervalDays"),
        Rejection(rotation, {"spec.gracePeriodDays": -1}, "spec.gracePeriodDays"),
        Rejection(rotation, {"spec.rotationType": "password"}, "spec.rotationType"),
        Rejection(rotation, {"spec.targetServiceUser": REMOVED}, "spec.targetServiceUser"),
        Rejection(rotation, {"spec.targetServiceUser": "x"}, "targetServiceUser is immutable", "update"),
        Rejection(rotation, {"status": {"nextRotation": "soon"}}, "status.nextRotation", "status"),
    ]  # fmt: skip


def _control_plane() -> list[Rejection]:
    kind, services, ceph = "controlplane", "spec.services", "spec.storage.ceph"
    infrastructure = "spec.infrastructure"
    releases = ["2025", "2025.3", "zed", "2025.2.1", "25.2", "2025.1", "2026.1"]
    off = {
        f"{services}.{each}.enabled": False for each in ("glance", "placement", "nova", "neutron")
    }
    return [
        *(
            Rejection(kind, {"spec.openStackRelease": r}, "spec.openStackRelease")
            for r in releases
        ),
        Rejection(kind, {"spec.global.region": "RegionTwo"}, "region is immutable", "update"),
        Rejection(kind, {"spec.global.replicas": 2}, "spec.global.replicas"),
        Rejection(kind, {f"{infrastructure}.mariadb.replicas": 2}, "two servers cannot tell"),
        Rejection(kind, {f"{infrastructure}.mariadb.replicas": 0}, "mariadb.replicas"),
        Rejection(
            kind,
            {f"{infrastructure}.mariadb.storageClass": "other"},
            "storageClass is immutable",
            "update",
        ),
        Rejection(
            kind,
            {f"{infrastructure}.mariadb.storageClass": REMOVED},
            "storageClass is immutable",
            "update",
        ),
        Rejection(
            kind, {f"{infrastructure}.mariadb.storageSize": "100 GB"}, "mariadb.storageSize"
        ),
        Rejection(kind, {f"{infrastructure}.rabbitmq.replicas": 2}, "must be odd"),
        Rejection(
            kind, {f"{infrastructure}.valkey": {"replicas": 2}}, "must be odd with sentinel"
        ),
        Rejection(kind, {f"{infrastructure}.ovn.replicas": 4}, "must be 1, 3 or 5"),
        Rejection(kind, {f"{infrastructure}.memcached.memory": "much"}, "memcached.memory"),
        Rejection(kind, {f"{services}.keystone.enabled": False}, "cannot be off while another"),
        Rejection(kind, {f"{services}.placement.enabled": False}, "nova: needs placement, glance"),
        Rejection(kind, {f"{services}.glance.enabled": False}, "nova: needs placement, glance"),
        Rejection(kind, {f"{services}.neutron.enabled": False}, "nova: needs placement, glance"),
        Rejection(kind, {"spec.tempest.enabled": True}, "tempest.enabled: cannot be true"),
        Rejection(kind, {"spec.cortex": {"enabled": True}}, "cortex.enabled: cannot be true"),
        Rejection(
            kind,
            {f"{services}.keystone.federation": {"enabled": True}},
            "federation.enabled: cannot be true",
        ),
        Rejection(
            kind,
            {
                f"{services}.nova.cells": [
                    {"name": "a", "computeRef": {"name": "a"}},
                    {"name": "b"},
                ]
            },
            "computeRef cannot be set with several cells",
        ),
        Rejection(
            kind, {f"{infrastructure}.ovn.storageSize": "20Gi"}, "cannot be set later", "update"
        ),
        Rejection(kind, {f"{ceph}.secretRef": {"name": "a", "key": "b"}}, "secretRef.key"),
        Rejection(kind, {"spec.korc": {"enabled": False}}, "korc: cannot be off while"),
        Rejection(
            kind,
            {**off, "spec.korc": {"enabled": False}},
            "korc: cannot be off while",
        ),
        Rejection(kind, {"spec.korc": {"bootstrapResources": ["users"]}}, "bootstrapResources[0]"),
        Rejection(kind, {"spec.korc": {"bootstrapResources": ["roles"]}}, "must contain domains"),
        Rejection(kind, {"spec.tempest.schedule": "0 2 * *"}, "must be a cron schedule"),
        Rejection(kind, {"spec.cortex": {"pipelines": ["sahara"]}}, "spec.cortex.pipelines[0]"),
        Rejection(kind, {f"{services}.nova.cells": [{"name": "cell0"}]}, "cell0 always exists"),
        Rejection(
            kind, {f"{services}.neutron.ml2": {"typeDrivers": ["vlan"]}}, "must contain geneve"
        ),
        Rejection(
            kind,
            {f"{services}.nova.image": {"tag": "1", "digest": DIGEST}},
            "at most one of tag and digest",
        ),
        Rejection(kind, {f"{services}.keystone.fernet.maxActiveKeys": 1}, "fernet.maxActiveKeys"),
        Rejection(
            kind, {f"{services}.neutron.policyOverrides": {}}, "rules, configMapRef or both"
        ),
        Rejection(kind, {f"{services}.keystone.publicEndpoint": "x"}, "keystone.publicEndpoint"),
        Rejection(kind, {f"{ceph}.monitors": ["10.0.0.1:6789"]}, "exactly one of clusterRef"),
        Rejection(kind, {f"{ceph}.clusterRef": REMOVED}, "exactly one of clusterRef"),
        Rejection(
            kind,
            {f"{ceph}.clusterRef": REMOVED, f"{ceph}.monitors": ["10.0.0.1:6789"]},
            "secretRef: required with monitors",
        ),
        Rejection(kind, {f"{ceph}.pools": {"images": "volumes"}}, "three different pools"),
        Rejection(
            kind, {"spec.global.tls.issuerRef.kind": "Vault"}, "spec.global.tls.issuerRef.kind"
        ),
        Rejection(kind, {"spec.global.imageRegistry": "https://ghcr.io"}, "global.imageRegistry"),
        Rejection(kind, {"spec.deletionPolicy": "Keep"}, "spec.deletionPolicy"),
        Rejection(kind, {"spec": REMOVED}, "spec"),
        Rejection(kind, {"status": {"updatePhase": "Resting"}}, "status.updatePhase", "status"),
    ]


REJECTIONS: Final = [*_credentials(), *_control_plane()]
