"""Examples of the kinds of the database and broker operators."""

from cobaltcore.api.foreign import manifest, mariadb, rabbitmq
from tests.unit.api.foreign_example import SMALL, Example

SERVER = mariadb.MariaDBRef(name="mariadb", namespace="mariadb-system")
BROKER = rabbitmq.ClusterReference(name="rabbitmq", namespace="rabbitmq-system")
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
            tls=mariadb.Tls(
                enabled=True,
                required=True,
                server_ca_secret_ref=mariadb.SecretRef(name="mariadb-ca"),
                server_cert_secret_ref=mariadb.SecretRef(name="mariadb-tls"),
            ),
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
            require=mariadb.Require(ssl=True),
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
