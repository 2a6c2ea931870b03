"""One filled-in spec per foreign kind that we create, and the view of its status."""

from cobaltcore.api.foreign import (
    certmanager,
    gateway,
    memcached,
    prometheus,
    rook,
    valkey,
)
from cobaltcore.runtime.meta import Struct
from tests.unit.api.foreign_databases import MARIADB, RABBITMQ
from tests.unit.api.foreign_example import SMALL, Example
from tests.unit.api.foreign_identity import ESO, KORC

TWO_COPIES = rook.PoolSpec(
    failure_domain="host",
    device_class="ssd",
    replicated=rook.Replicated(size=2, require_safe_replica_size=True),
    parameters={"compression_mode": "none"},
    quotas=rook.Quotas(max_size="10Gi", max_objects=1000),
)

OTHERS = [
    Example(
        valkey.VALKEY,
        valkey.ValkeySpec(
            replicas=3,
            version="8.0",
            sentinel=valkey.Sentinel(enabled=True),
            tls=valkey.Tls(
                enabled=True,
                cert_manager=valkey.CertManager(
                    issuer=valkey.Issuer(name="ca", kind="Issuer", group="cert-manager.io")
                ),
            ),
            metrics=valkey.Metrics(enabled=True, monitor=valkey.Monitor(enabled=True)),
            persistence=valkey.Persistence(enabled=True, size="1Gi", storage_class="local-path"),
            binding=valkey.Binding(secret_name="valkey-binding", template="host: {{ .host }}"),
            resources=SMALL,
        ),
        valkey.ValkeyStatus,
    ),
    Example(
        certmanager.CERTIFICATE,
        certmanager.CertificateSpec(
            secret_name="tls-libvirt-node1",
            issuer_ref=certmanager.IssuerRef(name="ca", kind="Issuer", group="cert-manager.io"),
            common_name="node1",
            dns_names=["node1"],
            ip_addresses=["10.0.0.1"],
            uris=["spiffe://cluster/node1"],
            duration="1128h",
            renew_before="240h",
            is_ca=True,
            usages=["server auth", "client auth"],
            private_key=certmanager.PrivateKey(
                algorithm="RSA", encoding="PKCS1", size=4096, rotation_policy="Always"
            ),
            subject=certmanager.Subject(organizations=["nova"], organizational_units=["kvm"]),
            secret_template=certmanager.SecretTemplate(labels={"a": "b"}, annotations={"c": "d"}),
            revision_history_limit=2,
        ),
        certmanager.CertificateStatus,
    ),
    Example(
        certmanager.ISSUER,
        certmanager.IssuerSpec(ca=certmanager.CertificateAuthority(secret_name="root-ca")),
        certmanager.IssuerStatus,
    ),
    Example(
        certmanager.CLUSTER_ISSUER,
        certmanager.IssuerSpec(
            vault=certmanager.VaultIssuer(
                server="https://openbao.example.org:8200",
                path="pki/sign/openstack",
                auth=certmanager.VaultAuth(
                    kubernetes=certmanager.VaultKubernetesAuth(
                        role="cert-manager",
                        mount_path="/v1/auth/kubernetes",
                        service_account_ref=certmanager.VaultServiceAccountRef(name="issuer"),
                    )
                ),
                ca_bundle="Y2E=",
            )
        ),
        certmanager.IssuerStatus,
    ),
    Example(
        rook.CEPH_CLUSTER,
        rook.CephClusterSpec(
            ceph_version=rook.CephVersion(image="quay.io/ceph/ceph:v19", allow_unsupported=True),
            data_dir_host_path="/var/lib/rook",
            mon=rook.Mon(count=2, allow_multiple_per_node=False, external_mon_ids=["ext-a"]),
            mgr=rook.Mgr(count=1, allow_multiple_per_node=True),
            dashboard=rook.Dashboard(enabled=False),
            storage=rook.Storage(use_all_nodes=True, use_all_devices=False, device_filter="^nvme"),
            ceph_config={"global": {"osd_pool_default_size": "2"}},
            cleanup_policy=rook.CleanupPolicy(confirmation=rook.DESTROY_DATA),
            external=rook.External(enable=False),
        ),
        rook.CephClusterStatus,
    ),
    Example(
        rook.CEPH_BLOCK_POOL,
        rook.CephBlockPoolSpec(
            failure_domain="host",
            replicated=rook.Replicated(size=3),
            quotas=rook.Quotas(max_size="10Gi", max_bytes=10 << 30, max_objects=1000),
            enable_rbd_stats=True,
        ),
        rook.CephBlockPoolStatus,
    ),
    Example(
        rook.CEPH_CLIENT,
        rook.CephClientSpec(
            name="cinder",
            secret_name="ceph-client-cinder",
            remove_secret=True,
            caps={"mon": "profile rbd", "osd": "profile rbd pool=volumes"},
        ),
        rook.CephClientStatus,
    ),
    Example(
        rook.CEPH_FILESYSTEM,
        rook.CephFilesystemSpec(
            metadata_pool=TWO_COPIES,
            data_pools=[rook.NamedPoolSpec(name="data", replicated=rook.Replicated(size=2))],
            metadata_server=rook.MetadataServer(active_count=1, active_standby=True),
            preserve_filesystem_on_delete=True,
        ),
        rook.PoolStatus,
    ),
    Example(
        rook.CEPH_OBJECT_STORE,
        rook.CephObjectStoreSpec(
            metadata_pool=TWO_COPIES,
            data_pool=TWO_COPIES,
            preserve_pools_on_delete=True,
            gateway=rook.Gateway(
                instances=2, port=80, secure_port=443, ssl_certificate_ref="rgw-tls"
            ),
            auth=rook.ObjectStoreAuth(
                keystone=rook.KeystoneAuth(
                    url="https://keystone.example.org:5000",
                    accepted_roles=["member"],
                    service_user_secret_name="rgw-user",
                    implicit_tenants="swift",
                )
            ),
        ),
        rook.PoolStatus,
    ),
    Example(
        memcached.MEMCACHED,
        memcached.MemcachedSpec(
            replicas=3,
            image="memcached:1.6",
            memcached=memcached.Settings(max_memory_mb=1024, max_connections=4096),
            resources=SMALL,
            high_availability=memcached.HighAvailability(
                anti_affinity_preset="hard",
                pod_disruption_budget=memcached.PodDisruptionBudget(enabled=True, min_available=2),
            ),
            monitoring=memcached.Monitoring(enabled=True, exporter_image="exporter:v0.15.4"),
        ),
        memcached.MemcachedStatus,
    ),
    Example(
        gateway.REFERENCE_GRANT,
        gateway.ReferenceGrantSpec(
            from_=[gateway.Referrer(group="a.example", kind="A", namespace="a")],
            to=[gateway.Referent(group="b.example", kind="B", name="b")],
        ),
        Struct,
    ),
    Example(
        prometheus.SERVICE_MONITOR,
        prometheus.ServiceMonitorSpec(
            selector=prometheus.LabelSelector(match_labels={"a": "b"}),
            endpoints=[prometheus.ScrapeEndpoint(port="metrics", path="/m", interval="30s")],
        ),
        Struct,
    ),
    Example(
        prometheus.PROMETHEUS_RULE,
        prometheus.PrometheusRuleSpec(
            groups=[
                prometheus.RuleGroup(
                    name="keystone",
                    rules=[
                        prometheus.AlertRule(
                            alert="KeystoneDown",
                            expr="up == 0",
                            for_="5m",
                            labels={"severity": "critical"},
                            annotations={"summary": "Keystone does not answer"},
                        )
                    ],
                )
            ]
        ),
        Struct,
    ),
]

EXAMPLES = [*MARIADB, *RABBITMQ, *KORC, *ESO, *OTHERS]
