"""One filled-in spec per foreign kind that we create, and the view of its status."""

from typing import Any, NamedTuple

from cobaltcore.api.foreign import (
    certmanager,
    eso,
    korc,
    manifest,
    mariadb,
    memcached,
    prometheus,
    rabbitmq,
    rook,
    valkey,
)
from cobaltcore.api.foreign.kubernetes import Resources
from cobaltcore.runtime.meta import Kind, Struct


class Example(NamedTuple):
    kind: Kind
    spec: Struct
    status: type[Struct]
    view: type[Struct] | None = None


CLOUD = korc.CloudCredentialsRef(cloud_name="admin", secret_name="k-orc-clouds")
SERVER = mariadb.MariaDBRef(name="mariadb", namespace="mariadb-system")
BROKER = rabbitmq.ClusterReference(name="rabbitmq", namespace="rabbitmq-system")
STORE = eso.StoreRef(name="openbao-cluster-store", kind="ClusterSecretStore")
SMALL = Resources(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"})
BUCKET = mariadb.S3(
    bucket="backups",
    endpoint="s3.example.org",
    prefix="mariadb",
    region="eu",
    access_key_id_secret_key_ref=mariadb.SecretKeyRef(name="s3", key="access-key-id"),
    secret_access_key_secret_key_ref=mariadb.SecretKeyRef(name="s3", key="secret-access-key"),
)
CLAIM = mariadb.VolumeClaim(
    access_modes=["ReadWriteOnce"],
    resources=mariadb.VolumeResources(requests={"storage": "10Gi"}),
    storage_class_name="local-path",
)
TWO_COPIES = rook.PoolSpec(
    failure_domain="host",
    device_class="ssd",
    replicated=rook.Replicated(size=2, require_safe_replica_size=True),
    parameters={"compression_mode": "none"},
    quotas=rook.Quotas(max_size="10Gi", max_objects=1000),
)

MARIADB = [
    Example(
        mariadb.MARIADB,
        mariadb.MariaDBSpec(
            replicas=3,
            image="mariadb:10.11",
            port=3307,
            root_password_secret_key_ref=mariadb.GeneratedSecretKeyRef(
                name="mariadb-root", key="password", generate=True
            ),
            storage=mariadb.Storage(size="10Gi", storage_class_name="local-path"),
            galera=mariadb.Galera(enabled=True),
            max_scale_ref=mariadb.ObjectRef(name="maxscale", namespace="mariadb-system"),
            metrics=mariadb.Metrics(enabled=True),
            tls=mariadb.Tls(enabled=True, required=True),
            my_cnf="[mariadb]\nmax_connections = 1000\n",
            resources=SMALL,
            node_selector={"kubernetes.io/os": "linux"},
        ),
        mariadb.MariaDBStatus,
    ),
    Example(
        mariadb.MAXSCALE,
        mariadb.MaxScaleSpec(
            replicas=2,
            image="maxscale:23.08",
            maria_db_ref=SERVER,
            metrics=mariadb.Metrics(enabled=True),
            resources=SMALL,
        ),
        manifest.Conditions,
    ),
    Example(
        mariadb.DATABASE,
        mariadb.DatabaseSpec(
            maria_db_ref=SERVER,
            name="keystone",
            character_set="utf8mb4",
            collate="utf8mb4_general_ci",
            cleanup_policy="Skip",
            requeue_interval="10m",
            retry_interval="5s",
        ),
        manifest.Conditions,
    ),
    Example(
        mariadb.USER,
        mariadb.UserSpec(
            maria_db_ref=SERVER,
            name="keystone",
            host="10.%",
            password_secret_key_ref=mariadb.SecretKeyRef(name="keystone-db", key="password"),
            max_user_connections=200,
            cleanup_policy="Delete",
            requeue_interval="10m",
            retry_interval="5s",
        ),
        manifest.Conditions,
    ),
    Example(
        mariadb.GRANT,
        mariadb.GrantSpec(
            maria_db_ref=SERVER,
            username="keystone",
            host="10.%",
            database="keystone",
            table="token",
            privileges=["ALL PRIVILEGES"],
            cleanup_policy="Delete",
            requeue_interval="10m",
            retry_interval="5s",
        ),
        mariadb.GrantStatus,
    ),
    Example(
        mariadb.BACKUP,
        mariadb.BackupSpec(
            maria_db_ref=SERVER,
            databases=["keystone"],
            schedule=mariadb.Schedule(cron="0 3 * * *", suspend=True),
            storage=mariadb.BackupStorage(s3=BUCKET),
            max_retention="720h",
        ),
        manifest.Conditions,
    ),
    Example(
        mariadb.PHYSICAL_BACKUP,
        mariadb.PhysicalBackupSpec(
            maria_db_ref=SERVER,
            schedule=mariadb.Schedule(cron="0 3 * * *"),
            storage=mariadb.BackupStorage(persistent_volume_claim=CLAIM),
            max_retention="720h",
            target="PreferReplica",
        ),
        manifest.Conditions,
    ),
    Example(
        mariadb.RESTORE,
        mariadb.RestoreSpec(
            maria_db_ref=SERVER,
            backup_ref=mariadb.BackupRef(name="nightly"),
            database="keystone",
            target_recovery_time="2026-01-01T00:00:00Z",
        ),
        manifest.Conditions,
    ),
]

RABBITMQ = [
    Example(
        rabbitmq.CLUSTER,
        rabbitmq.ClusterSpec(
            replicas=3,
            image="rabbitmq:3.13",
            persistence=rabbitmq.Persistence(storage="20Gi", storage_class_name="local-path"),
            rabbitmq=rabbitmq.Configuration(
                additional_config="cluster_partition_handling = pause_minority\n",
                advanced_config="[].",
                additional_plugins=["rabbitmq_prometheus"],
            ),
            resources=SMALL,
            tls=rabbitmq.Tls(
                secret_name="rabbitmq-tls",
                ca_secret_name="rabbitmq-ca",
                disable_non_tls_listeners=True,
            ),
            delay_start_seconds=0,
            termination_grace_period_seconds=60,
        ),
        rabbitmq.ClusterStatus,
    ),
    Example(
        rabbitmq.VHOST,
        rabbitmq.VhostSpec(
            name="nova",
            rabbitmq_cluster_reference=BROKER,
            default_queue_type="quorum",
            deletion_policy="retain",
        ),
        manifest.ConditionedStatus,
    ),
    Example(
        rabbitmq.USER,
        rabbitmq.UserSpec(
            rabbitmq_cluster_reference=rabbitmq.ClusterReference(
                connection_secret=rabbitmq.LocalRef(name="broker")
            ),
            import_credentials_secret=rabbitmq.LocalRef(name="nova-messaging"),
            tags=["monitoring"],
        ),
        rabbitmq.UserStatus,
    ),
    Example(
        rabbitmq.PERMISSION,
        rabbitmq.PermissionSpec(
            rabbitmq_cluster_reference=BROKER,
            vhost="nova",
            user_reference=rabbitmq.LocalRef(name="nova"),
            permissions=rabbitmq.Permissions(configure=".*", write=".*", read=".*"),
        ),
        manifest.ConditionedStatus,
    ),
    Example(
        rabbitmq.POLICY,
        rabbitmq.PolicySpec(
            rabbitmq_cluster_reference=BROKER,
            name="ha",
            vhost="nova",
            pattern="^notifications",
            apply_to="queues",
            definition={"expires": 600000},
            priority=1,
        ),
        manifest.ConditionedStatus,
    ),
]


def _orc(kind: Kind, view: type[korc.Spec[Any, Any]], **fields: Any) -> Example:
    spec = view(cloud_credentials_ref=CLOUD, **fields)
    return Example(kind, spec, korc.Status, view)


KORC = [
    _orc(
        korc.DOMAIN,
        korc.DomainSpec,
        management_policy="unmanaged",
        import_=korc.Import(filter=korc.NameFilter(name="Default")),
    ),
    _orc(
        korc.PROJECT,
        korc.ProjectSpec,
        managed_options=korc.ManagedOptions(on_delete="detach"),
        resource=korc.ProjectResource(
            name="service",
            description="Service users",
            domain_ref="default",
            enabled=True,
            tags=["cobaltcore"],
        ),
        resync_period="10m",
    ),
    _orc(
        korc.ROLE,
        korc.RoleSpec,
        resource=korc.RoleResource(
            name="service", description="Services among themselves", domain_ref="default"
        ),
    ),
    _orc(
        korc.GROUP,
        korc.GroupSpec,
        resource=korc.GroupResource(name="operators", description="People", domain_ref="default"),
    ),
    _orc(
        korc.USER,
        korc.UserSpec,
        resource=korc.UserResource(
            name="nova",
            description="Compute service",
            domain_ref="default",
            default_project_ref="service",
            enabled=True,
            password_ref="nova-password",
        ),
    ),
    Example(
        korc.ROLE_ASSIGNMENT,
        korc.RoleAssignmentSpec(
            cloud_credentials_ref=CLOUD,
            resource=korc.RoleAssignmentResource(
                role_ref="service", user_ref="nova", project_ref="service"
            ),
        ),
        manifest.Conditions,
    ),
    _orc(
        korc.SERVICE,
        korc.ServiceSpec,
        resource=korc.ServiceResource(
            name="nova", type="compute", description="Compute", enabled=False
        ),
    ),
    _orc(
        korc.ENDPOINT,
        korc.EndpointSpec,
        resource=korc.EndpointResource(
            service_ref="nova",
            interface="internal",
            url="http://nova-api.openstack.svc:8774/v2.1",
            description="Inside the cluster",
            enabled=True,
        ),
    ),
    _orc(
        korc.APPLICATION_CREDENTIAL,
        korc.ApplicationCredentialSpec,
        resource=korc.ApplicationCredentialResource(
            name="nova-1",
            description="Compute service",
            user_ref="nova",
            secret_ref="nova-credential",
            role_refs=["service"],
            unrestricted=False,
            expires_at="2026-12-31T00:00:00Z",
        ),
    ),
]

ESO = [
    Example(
        eso.EXTERNAL_SECRET,
        eso.ExternalSecretSpec(
            secret_store_ref=STORE,
            refresh_interval="1h",
            target=eso.ExternalSecretTarget(
                name="keystone-db",
                creation_policy="Merge",
                deletion_policy="Delete",
                template=eso.Template(
                    type="Opaque",
                    metadata=eso.TemplateMetadata(labels={"a": "b"}, annotations={"c": "d"}),
                    data={"password": "{{ .password }}"},
                ),
            ),
            data=[
                eso.ExternalSecretData(
                    secret_key="password",
                    remote_ref=eso.RemoteRef(key="keystone/db", property="password", version="2"),
                )
            ],
            data_from=[
                eso.ExternalSecretDataFrom(extract=eso.RemoteRef(key="keystone/db")),
                eso.ExternalSecretDataFrom(find=eso.Find(name=eso.FindName(regexp="^nova/"))),
            ],
            refresh_policy="Periodic",
        ),
        eso.ExternalSecretStatus,
    ),
    Example(
        eso.PUSH_SECRET,
        eso.PushSecretSpec(
            secret_store_refs=[STORE],
            selector=eso.PushSelector(secret=eso.PushSource(name="nova-credential")),
            data=[
                eso.PushSecretData(
                    match=eso.PushMatch(
                        secret_key="value",
                        remote_ref=eso.PushRemoteRef(remote_key="nova/app", property="secret"),
                    )
                )
            ],
            refresh_interval="1h",
            deletion_policy="Delete",
            update_policy="IfNotExists",
        ),
        eso.PushSecretStatus,
    ),
    Example(
        eso.CLUSTER_SECRET_STORE,
        eso.SecretStoreSpec(
            provider=eso.StoreProvider(
                vault=eso.Vault(
                    server="https://openbao.example.org:8200",
                    path="kv-v2",
                    version="v1",
                    auth=eso.VaultAuth(
                        kubernetes=eso.VaultKubernetesAuth(
                            mount_path="kubernetes/control-plane",
                            role="eso",
                            service_account_ref=eso.ServiceAccountRef(
                                name="external-secrets", namespace="external-secrets"
                            ),
                        )
                    ),
                    ca_provider=eso.CAProvider(
                        type="Secret", name="openbao-ca", key="ca.crt", namespace="openbao"
                    ),
                )
            ),
            conditions=[eso.StoreCondition(namespaces=["openstack"], namespace_regexes=["^lab-"])],
            refresh_interval=60,
        ),
        eso.SecretStoreStatus,
    ),
    Example(
        eso.SECRET_STORE,
        eso.SecretStoreSpec(
            provider=eso.StoreProvider(
                kubernetes=eso.KubernetesStore(
                    remote_namespace="vault",
                    server=eso.KubernetesServer(
                        ca_provider=eso.CAProvider(
                            type="ConfigMap", name="kube-root-ca.crt", key="ca.crt"
                        )
                    ),
                    auth=eso.KubernetesServiceAccountAuth(
                        service_account=eso.ServiceAccountRef(name="store")
                    ),
                )
            )
        ),
        eso.SecretStoreStatus,
    ),
]

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
