"""Values that have the right type and would fail later, with what the answer must say.

Every case starts from the first document of `examples/<kind>.yaml` and changes a few fields of it.
"""

from typing import Any, Final

from tests.support.rejections import Rejection

PLANE = "controlplane"
SERVICES = ("keystone", "glance", "placement", "nova", "neutron", "cinder", "barbican")
TWICE = {"physicalNetwork": "a", "bridge": "br-a"}
NAMES = ("a\nb", "a = 1", "a]", "a\u00a0b", "a ", "\x07", "connexi\u00f3n", "")
SECRETS = (
    "connection",
    "slave_connection",
    "transport_url",
    "password",
    "rabbit_password",
    "metadata_proxy_shared_secret",
    "memcache_secret_key",
)


def _names(kind: str) -> list[Rejection]:
    config, rules = "spec.extraConfig", "spec.policyOverrides"
    return [
        *(
            Rejection(kind, {config: {"DEFAULT": {n: "1"}}}, "the name of an option")
            for n in NAMES
        ),
        *(Rejection(kind, {config: {n: {"a": "1"}}}, "a section needs a name") for n in NAMES),
        *(Rejection(kind, {rules: {"rules": {n: "!"}}}, "a rule needs a name") for n in NAMES),
        *(Rejection(kind, {config: {"a": {n: "x"}}}, "come from Secrets") for n in SECRETS),
        Rejection(kind, {config: {"DEFAULT": {"a": "1\x0b"}}}, "extraConfig.DEFAULT.a"),
        Rejection(kind, {rules: {"rules": {"a": "role:b\nc: !"}}}, "rules.a"),
    ]


def _configuration() -> list[Rejection]:
    blocks = ["spec.global", *(f"spec.services.{each}" for each in SERVICES)]
    secret = {"database": {"connection": "mysql://me:secret@db/x"}}
    return [
        *_names("keystone"),
        *(Rejection(PLANE, {f"{b}.extraConfig": secret}, f"{b}.extraConfig") for b in blocks),
        *(Rejection(PLANE, {f"{b}.extraConfig": {"a]": {}}}, f"{b}.extraConfig") for b in blocks),
        *(Rejection("cinder", {"spec.backends.1.config": {n: "1"}}, "config") for n in NAMES),
        *(
            Rejection("keystone", {"spec.plugins.0.config": {n: "1"}}, "the name of an option")
            for n in NAMES
        ),
    ]


def _databases() -> list[Rejection]:
    cells = "spec.services.nova.cells"
    shared = "every cell needs a database of its own"

    def on(database: str) -> dict[str, Any]:
        return {cells: [{"name": "cell1"}, {"name": "cell2", "database": database}]}

    others = [each for each in SERVICES if each != "nova"]
    return [
        *(
            Rejection(PLANE, on(each), shared)
            for each in (*others, "nova_api", "nova_cell0")
        ),
        *(Rejection(PLANE, on(each), "a database of the server") for each in ("mysql", "SYS")),
        Rejection(PLANE, on("nova"), shared),
        Rejection(PLANE, {cells: [{"name": "a"}, {"name": "b-c"}, {"name": "d", "database": "nova_b_c"}]}, shared),
        Rejection(PLANE, {cells: [{"name": "api"}]}, "another name than api"),
        Rejection("nova", {"spec.cells": [{"name": "cell1"}, {"name": "b", "database": "nova"}]}, shared),
        Rejection("nova", {"spec.database.cellDatabase": "nova_b", "spec.cells": [{"name": "a"}, {"name": "b"}]}, "cannot use the API database"),
        Rejection("keystone", {"spec.database.database": "mysql"}, "spec.database.database"),
    ]  # fmt: skip


def _pods() -> list[Rejection]:
    infrastructure = "spec.infrastructure"
    resources = f"{infrastructure}.mariadb.resources"
    above = [
        ({"cpu": "2"}, {"cpu": "1500m"}),
        ({"cpu": 2}, {"cpu": 1}),
        ({"memory": "1Gi"}, {"memory": "1G"}),
        ({"memory": "1", "cpu": "100m"}, {"memory": "1k", "cpu": "0.05"}),
    ]
    selectors = [{"a b": "c"}, {"a": "b c"}, {"a/b/c": "d"}, {"-a": "b"}, {"a": "-"}, {"": "a"}]
    return [
        *(
            Rejection(
                PLANE, {resources: {"requests": r, "limits": li}}, "must not be above limits"
            )
            for r, li in above
        ),
        *(
            Rejection(PLANE, {resources: {part: {name: "1"}}}, f"mariadb.resources.{part}")
            for part in ("requests", "limits")
            for name in ("memry", "CPU", "gpu", "/gpu", "storage")
        ),
        *(
            Rejection("keystone", {"spec.nodeSelector": each}, "spec.nodeSelector")
            for each in selectors
        ),
        Rejection("keystone", {"spec.tolerations": [{"key": "a b"}]}, "spec.tolerations[0].key"),
        Rejection("keystone", {"spec.tolerations": [{"key": "a", "value": "b c"}]}, "[0].value"),
        *(
            Rejection(PLANE, {f"{infrastructure}.{part}.storageSize": size}, "storageSize")
            for part in ("mariadb", "rabbitmq")
            for size in (0, "0", "0.0", "0Gi", -1, "-1Gi")
        ),
        *(
            Rejection(PLANE, {f"{infrastructure}.memcached.memory": each}, "memcached.memory")
            for each in ("0", "-1", "256MB", "1,5Gi", "1e3", "\u00a01Gi")
        ),
        Rejection("ovncluster", {"spec.northbound.storage.size": "0"}, "storage.size"),
    ]


def _network() -> list[Rejection]:
    mappings = "spec.infrastructure.ovn.bridgeMappings"
    urls = ["http://nova:99999", "http://nova:0", "http://no va", "http://nova/\u00a0", "ftp://a"]
    public = "spec.services.keystone.publicEndpoint"
    return [
        *(
            Rejection(PLANE, {f"{mappings}.0.bridge": each}, "choose another name")
            for each in ("br-int", "br-tun", "ovs-system")
        ),
        *(Rejection(PLANE, {public: each}, "keystone.publicEndpoint") for each in urls),
        *(
            Rejection("nova", {"spec.messaging": {"hosts": [each], "secretRef": {"name": "a"}}}, "hosts[0]")
            for each in ("mq:99999", "mq:0", "mq:65536", "mq\u00a0:5672")
        ),
        Rejection("neutron", {"spec.ml2.mechanismDrivers": ["banana"]}, "mechanismDrivers[0]"),
        Rejection(PLANE, {"spec.services.neutron.ml2": {"mechanismDrivers": ["banana"]}}, "mechanismDrivers[0]"),
        Rejection("neutron", {"spec.ovn.nbConnection": "tcp:a:70000"}, "must be tcp:HOST:PORT"),
        *(
            Rejection(PLANE, {"spec.global.region": each}, "spec.global.region")
            for each in ("Region One", "a/b", "R\u00a0")
        ),
        Rejection(PLANE, {f"{mappings}.0.physicalNetwork": "ext\u00a0"}, "physicalNetwork"),
        Rejection(PLANE, {mappings: [TWICE, TWICE | {"bridge": "br-b"}]}, "bridgeMappings[1]"),
        Rejection(PLANE, {mappings: [TWICE, TWICE | {"physicalNetwork": "b"}]}, "serve one physical"),
        *(
            Rejection("neutron", {"spec.metadataAgent.novaMetadataUrl": each}, "novaMetadataUrl")
            for each in urls
        ),
        *(
            Rejection("placement", {"spec.database.host": each}, "spec.database.host")
            for each in ("db\u00a0", "db:3306", "[fd00::1]", "db\n")
        ),
        *(
            Rejection("glance", {"spec.storage.rbd.user": each}, "spec.storage.rbd.user")
            for each in ("my user", ".user", "user/", "us\u00e9r", "u" * 55)
        ),
        Rejection(PLANE, {"spec.korc": {"cloudCredentialsRef": {"cloudName": "a\nb"}}}, "cloudName"),
        Rejection("keystone", {"spec.bootstrap.adminUser": "\u00a0admin"}, "bootstrap.adminUser"),
        Rejection("cinder", {"spec.messaging.virtualHost": "a b"}, "messaging.virtualHost"),
    ]  # fmt: skip


def _schedules() -> list[Rejection]:
    field = "spec.fernet.rotationSchedule"
    never = ("0 0 31 2 *", "0 0 30 2 *", "0 0 30,31 FEB *", "0 0 31 4,6 *", "@hourly ")
    wrong = ("0 0 5-3 * *", "0 0 ? * *", "0 0 * * 7", "0 0 * abc *", "60 0 * * *")
    return [
        Rejection("keystone", {field: each}, "must be a cron schedule") for each in never + wrong
    ]


def _object_names() -> list[Rejection]:
    names = ("a" * 70, "a" * 41, "a.b", "1a")
    return [
        Rejection(kind, {"metadata.name": name}, "metadata.name: at most 40")
        for kind in (PLANE, "ovncluster", *SERVICES)
        for name in names
    ]


REJECTIONS: Final = [
    *_configuration(),
    *_databases(),
    *_pods(),
    *_network(),
    *_schedules(),
    *_object_names(),
]
