"""Hand-written invalid objects of the service kinds, with what the answer must contain.

Every case starts from the first document of `examples/<kind>.yaml` and changes a few fields of it.
"""

from typing import Final

from tests.support.rejections import REMOVED, Rejection

LONG = "x" * 5000
DIGEST = "sha256:" + "0" * 64


def _shared_blocks() -> list[Rejection]:
    """Rules of the blocks that all services consist of, shown on Keystone."""
    kind = "keystone"
    policy = "spec.policyOverrides"
    return [
        Rejection(kind, {"spec.image.tag": REMOVED}, "exactly one of tag and digest"),
        Rejection(kind, {"spec.image.digest": DIGEST}, "exactly one of tag and digest"),
        Rejection(
            kind, {"spec.image.tag": REMOVED, "spec.image.digest": "sha256:0"}, "spec.image.digest"
        ),
        Rejection(kind, {"spec.image.repository": "ghcr.io/c5c3/keystone:28"}, "image.repository"),
        Rejection(kind, {"spec.image.repository": "Keystone"}, "image.repository"),
        Rejection(kind, {"spec.image.tag": "28.0.0 "}, "spec.image.tag"),
        Rejection(kind, {"spec.database.host": "db"}, "at most one of clusterRef and host"),
        Rejection(kind, {"spec.database.port": 3306}, "port: only allowed with host"),
        Rejection(kind, {"spec.database.database": "key-stone"}, "spec.database.database"),
        Rejection(kind, {"spec.database.database": "other"}, "database is immutable", "update"),
        Rejection(
            kind, {"spec.database.clusterRef.name": "other"}, "clusterRef is immutable", "update"
        ),
        Rejection(
            kind, {"spec.database.clusterRef": REMOVED}, "clusterRef is immutable", "update"
        ),
        Rejection(kind, {"spec.cache.servers": ["a:1"]}, "exactly one of clusterRef and servers"),
        Rejection(
            kind, {"spec.cache.clusterRef": REMOVED}, "exactly one of clusterRef and servers"
        ),
        *(
            Rejection(kind, {"spec.cache.backend": each}, "spec.cache.backend")
            for each in ("dogpile.cache.redis", "dogpile.cache.memcached")
        ),
        Rejection(
            kind,
            {"spec.cache.clusterRef": REMOVED, "spec.cache.servers": ["memcached"]},
            "spec.cache.servers[0]",
        ),
        Rejection(
            kind,
            {"spec.cache.clusterRef": REMOVED, "spec.cache.servers": ["a:1", "a:1"]},
            "spec.cache.servers[1]",
        ),
        Rejection(kind, {policy: {}}, "set rules, configMapRef or both"),
        Rejection(kind, {f"{policy}.rules": {"": "role:reader"}}, "a rule needs a name"),
        Rejection(kind, {f"{policy}.rules": {}}, "spec.policyOverrides.rules"),
        Rejection(kind, {f"{policy}.configMapRef": {"name": ""}}, "configMapRef.name"),
        Rejection(
            kind,
            {
                "spec.plugins": [
                    {"name": "a", "configSection": "ldap"},
                    {"name": "b", "configSection": "ldap"},
                ]
            },
            "spec.plugins[1]",
        ),
        Rejection(kind, {"spec.plugins.0.configSection": "a]b"}, "configSection"),
        Rejection(kind, {"spec.plugins.0.config": {"a": "1\n[b]"}}, "spec.plugins[0].config.a"),
        Rejection(kind, {"spec.extraConfig": {"": {"a": "1"}}}, "a section needs a name"),
        Rejection(
            kind, {"spec.extraConfig.token.expiration": 3600}, "extraConfig.token.expiration"
        ),
        Rejection(kind, {"spec.extraConfig.token.expiration": "1\n2"}, "extraConfig.token"),
        Rejection(kind, {"spec.extraConfig.token.expiration": LONG}, "extraConfig.token"),
        Rejection(kind, {"spec.preStopSleepSeconds": 60}, "preStopSleepSeconds: must be less"),
        Rejection(
            kind,
            {"spec.preStopSleepSeconds": 30, "spec.terminationGracePeriodSeconds": REMOVED},
            "preStopSleepSeconds: must be less",
        ),
        Rejection(kind, {"spec.tls.secretRef": {"name": "a"}}, "at most one of issuerRef"),
        Rejection(kind, {"spec.tls.issuerRef.kind": "Certificate"}, "spec.tls.issuerRef.kind"),
        Rejection(kind, {"spec.tolerations.0.value": "x"}, "value: only allowed with"),
        Rejection(
            kind,
            {"spec.tolerations.0.operator": "Equal", "spec.tolerations.0.key": REMOVED},
            "key: required with",
        ),
        Rejection(
            kind, {"spec.tolerations.0.tolerationSeconds": 5}, "tolerationSeconds: only allowed"
        ),
        Rejection(kind, {"spec.resources.requests.cpu": "half"}, "resources.requests.cpu"),
        Rejection(kind, {"spec.resources.limits": {"memory": "1 GB"}}, "resources.limits.memory"),
        Rejection(kind, {"spec.nodeSelector": {}}, "spec.nodeSelector"),
        Rejection(kind, {"spec.deletionPolicy": "Orphan"}, "spec.deletionPolicy"),
        Rejection(kind, {"spec.imagePullSecrets": [{"name": "Bad_Name"}]}, "imagePullSecrets[0]"),
    ]


def _keystone() -> list[Rejection]:
    kind, schedule = "keystone", "spec.fernet.rotationSchedule"
    schedules = [
        "weekly", "0 0 * *", "0 0 * * * *", "60 0 * * *", "0 24 * * *", "0 0 32 * *", "0 0 0 * *",
        "0 0 * 13 *", "0 0 * * 8", "*/0 * * * *", "@reboot", "0 0 * * 0\n",
    ]  # fmt: skip
    return [
        *(Rejection(kind, {schedule: each}, "must be a cron schedule") for each in schedules),
        Rejection(kind, {"spec.fernet.maxActiveKeys": 2}, "spec.fernet.maxActiveKeys"),
        Rejection(kind, {"spec.credentialKeys": {"maxActiveKeys": 1}}, "spec.credentialKeys"),
        Rejection(kind, {"spec.replicas": 0}, "spec.replicas"),
        Rejection(kind, {"spec.federation": {"enabled": True}}, "federation.enabled: cannot be true"),
        Rejection(kind, {"spec.middleware": []}, "spec.middleware"),
        Rejection(kind, {"spec.database.secretRef.key": "login"}, "spec.database.secretRef.key"),
        Rejection(kind, {"spec.bootstrap": REMOVED}, "spec.bootstrap"),
        Rejection(kind, {"spec.bootstrap.adminUser": "root"}, "adminUser is immutable", "update"),
        Rejection(kind, {"spec.bootstrap.region": "Two"}, "region is immutable", "update"),
        Rejection(kind, {"spec.bootstrap.region": "Region One"}, "spec.bootstrap.region"),
        Rejection(kind, {"spec.bootstrap.publicEndpoint": "identity"}, "publicEndpoint"),
        Rejection(
            kind, {"spec.bootstrap.adminPasswordSecretRef.key": "a/b"}, "adminPasswordSecretRef.key"
        ),
        Rejection(
            kind, {"status": {"conditions": [{"type": "Ready", "status": "Maybe"}]}},
            "status.conditions[0].status", "status",
        ),
        Rejection(
            kind,
            {"status": {"conditions": [{"type": "A", "status": "True"}] * 2}},
            "status.conditions[1]",
            "status",
        ),
        Rejection(kind, {"status": {"installedRelease": "zed"}}, "installedRelease", "status"),
    ]  # fmt: skip


def _glance_and_placement() -> list[Rejection]:
    kind, auth = "glance", "spec.keystone.appCredentialRef"
    return [
        Rejection(kind, {"spec.storage.rbd": REMOVED}, "rbd: required with backend rbd"),
        Rejection(kind, {"spec.storage.backend": "file"}, "rbd: required with backend rbd, only"),
        Rejection(kind, {"spec.storage.file": {"size": "1Gi"}}, "file: only allowed"),
        Rejection(kind, {"spec.storage.backend": "swift"}, "spec.storage.backend"),
        Rejection(
            kind,
            {"spec.storage": {"backend": "file", "file": {"size": "5Gi"}}},
            "storage.backend is immutable",
            "update",
        ),
        Rejection(kind, {f"{auth}.name": "other"}, "exactly one of secretName and name"),
        Rejection(kind, {f"{auth}.secretName": REMOVED}, "exactly one of secretName and name"),
        Rejection(kind, {"spec.keystone.authUrl": "keystone:5000/v3"}, "spec.keystone.authUrl"),
        Rejection(kind, {"spec.keystone.authUrl": "ftp://keystone"}, "spec.keystone.authUrl"),
        Rejection(kind, {"spec.storage.rbd.pool": "my pool"}, "spec.storage.rbd.pool"),
        Rejection(kind, {"spec.dependsOn.0.kind": "keystone"}, "spec.dependsOn[0].kind"),
        Rejection(
            kind,
            {"spec.dependsOn": [{"kind": "Keystone", "name": "keystone"}] * 2},
            "spec.dependsOn[1]",
        ),
        Rejection("placement", {"spec.keystone": REMOVED}, "spec.keystone"),
        Rejection("placement", {"spec.database.host": "db/1"}, "spec.database.host"),
        Rejection("placement", {"spec.database.port": 0}, "spec.database.port"),
    ]


def _nova() -> list[Rejection]:
    kind, external = "nova", "spec.scheduler.externalScheduler"
    return [
        Rejection(kind, {"spec.database.apiDatabase": "nova"}, "three different databases"),
        Rejection(kind, {"spec.database.cellDatabase": "nova_api"}, "three different databases"),
        Rejection(kind, {"spec.database.apiDatabase": "x"}, "apiDatabase is immutable", "update"),
        Rejection(
            kind, {"spec.database.cellDatabase": "x"}, "cellDatabase is immutable", "update"
        ),
        Rejection(kind, {"spec.cells.0.name": "cell0"}, "cell0 always exists"),
        Rejection(kind, {"spec.cells.0.name": "Cell_1"}, "spec.cells[0].name"),
        Rejection(kind, {"spec.cells": [{"name": "a"}, {"name": "a"}]}, "spec.cells[1]"),
        Rejection(kind, {"spec.cells": []}, "spec.cells"),
        Rejection(
            kind,
            {"spec.cells": [{"name": "cell1"}, {"name": "b", "computeRef": {"name": "b"}}]},
            "computeRef cannot be set with several cells",
        ),
        Rejection(kind, {"spec.cells.0.database": "nova_api"}, "cannot use the API database"),
        Rejection(kind, {f"{external}.endpoint": REMOVED}, "endpoint: required when enabled"),
        Rejection(
            kind, {"spec.messaging.hosts": ["r:5672"]}, "exactly one of clusterRef and hosts"
        ),
        Rejection(
            kind, {"spec.messaging.clusterRef": REMOVED}, "exactly one of clusterRef and hosts"
        ),
        Rejection(kind, {"spec.messaging": REMOVED}, "spec.messaging"),
        Rejection(kind, {"spec.storage.rbd": REMOVED}, "rbd: required with backend rbd"),
        Rejection(kind, {"spec.storage.backend": "local"}, "rbd: required with backend rbd, only"),
        Rejection(kind, {"spec.compute.virtualization": "xen"}, "spec.compute.virtualization"),
        Rejection(kind, {"spec.api.replicas": 0}, "spec.api.replicas"),
        Rejection(
            kind, {"spec.serviceAuth.placementServiceUserRef": {}}, "placementServiceUserRef"
        ),
    ]


def _neutron() -> list[Rejection]:
    kind, nb = "neutron", "spec.ovn.nbConnection"
    connections = ["ovn-nb:6641", "udp:ovn-nb:6641", "tcp:ovn-nb", "tcp:ovn nb:6641", "ssl::6641"]
    return [
        *(Rejection(kind, {nb: each}, "must be tcp:HOST:PORT") for each in connections),
        Rejection(kind, {nb: "tcp:a:1,tcp:b"}, "must be tcp:HOST:PORT"),
        Rejection(kind, {nb: REMOVED}, "set both or neither"),
        Rejection(kind, {"spec.ovn.sbConnection": REMOVED}, "set both or neither"),
        Rejection(kind, {"spec.ml2.typeDrivers": ["vlan", "flat"]}, "must contain geneve"),
        Rejection(kind, {"spec.ml2.tenantNetworkTypes": ["vxlan"]}, "must also be in typeDrivers"),
        Rejection(kind, {"spec.ml2.typeDrivers": ["geneve", "token-ring"]}, "typeDrivers[1]"),
        Rejection(kind, {"spec.ml2.typeDrivers": ["geneve", "geneve"]}, "typeDrivers[1]"),
        Rejection(kind, {"spec.ml2.mechanismDrivers": []}, "spec.ml2.mechanismDrivers"),
        Rejection(kind, {"spec.ml2.mechanismDrivers": ["OVN"]}, "mechanismDrivers[0]"),
        Rejection(kind, {"spec.ovn.enabled": False}, "cannot contain ovn while ovn.enabled"),
        Rejection(kind, {"spec.database": REMOVED}, "database: cannot be removed", "update"),
        Rejection(kind, {"spec.messaging.hosts": ["rabbitmq"]}, "spec.messaging.hosts[0]"),
        Rejection(kind, {"spec.messaging.hosts": []}, "spec.messaging.hosts"),
    ]


def _cinder() -> list[Rejection]:
    kind, backend = "cinder", "spec.backends.0"
    return [
        Rejection(kind, {"spec.defaultVolumeType": "lvm"}, "must be the name of one of the backends"),
        Rejection(kind, {"spec.backends": []}, "must be the name of one of the backends"),
        Rejection(kind, {"spec.backends": REMOVED}, "must be the name of one of the backends"),
        Rejection(kind, {f"{backend}.rbd": REMOVED}, "rbd: required with the driver"),
        Rejection(kind, {f"{backend}.driver": "a.b.Nfs"}, "rbd: required with the driver"),
        Rejection(kind, {f"{backend}.driver": "rbd"}, "spec.backends[0].driver"),
        Rejection(kind, {f"{backend}.name": "DEFAULT"}, "that cinder.conf has already"),
        Rejection(kind, {f"{backend}.name": "database"}, "that cinder.conf has already"),
        Rejection(kind, {f"{backend}.name": "a]b"}, "spec.backends[0].name"),
        Rejection(kind, {"spec.backends.1.name": "ceph-rbd"}, "spec.backends[1]"),
        Rejection(kind, {"spec.backends.1.config": {"a": "b\nc"}}, "spec.backends[1].config.a"),
        Rejection(kind, {f"{backend}.rbd.cephSecretRef": REMOVED}, "rbd.cephSecretRef"),
        Rejection(kind, {"spec.volume.replicas": 101}, "spec.volume.replicas"),
        Rejection(
            kind, {"status": {"backends": [{"status": "Ready"}]}}, "status.backends[0].name", "status"
        ),
    ]  # fmt: skip


def _tempest() -> list[Rejection]:
    kind, tests = "tempest", "spec.tests"
    return [
        Rejection(kind, {f"{tests}.concurrency": 0}, "spec.tests.concurrency"),
        Rejection(kind, {f"{tests}.concurrency": 65}, "spec.tests.concurrency"),
        Rejection(kind, {f"{tests}.services": ["dns"]}, "spec.tests.services[0]"),
        Rejection(kind, {f"{tests}.services": []}, "spec.tests.services"),
        Rejection(kind, {f"{tests}.services": ["image", "image"]}, "spec.tests.services[1]"),
        Rejection(kind, {f"{tests}.includeRegex": ""}, "spec.tests.includeRegex"),
        Rejection(kind, {"spec.schedule": "nightly"}, "must be a cron schedule"),
        Rejection(kind, {"spec.schedule": "0 25 * * *"}, "must be a cron schedule"),
        Rejection(kind, {"spec.timeout": "4 hours"}, "spec.timeout"),
        Rejection(kind, {"spec.timeout": "soon"}, "spec.timeout"),
        Rejection(kind, {"spec.schedule": REMOVED, "spec.suspend": True}, "needs a schedule"),
        Rejection(kind, {"status": {"lastRun": "last night"}}, "status.lastRun", "status"),
    ]


REJECTIONS: Final = [
    *_shared_blocks(),
    *_keystone(),
    *_glance_and_placement(),
    *_nova(),
    *_neutron(),
    *_cinder(),
    *_tempest(),
]
