"""A server as a StatefulSet: restricted pod, one volume, immutable fields stay as they are."""

from dataclasses import replace

from cobaltcore.api.pods import Resources
from cobaltcore.engine.desired.statefulset import Storage
from cobaltcore.runtime.meta import Key
from cobaltlab import manifests
from cobaltlab.providers import serverpod

SERVER = serverpod.Server(
    name="mariadb",
    key=Key("openstack", "db"),
    labels={"app": "db"},
    image="example.org:5000/mariadb:10.11",
    command=["sh", "start.sh"],
    ports={"mariadb": 3306},
    configuration="db-config",
    secret="db-init",
    probes=serverpod.probes("mariadb", ["true"]),
    resources=Resources(requests={"memory": "1Mi"}),
    storage=Storage("storage", "1Gi"),
    data_path="/var/lib/mysql",
)


def test_the_pod_is_restricted_and_writes_only_to_its_volumes() -> None:
    body = serverpod.stateful_set(SERVER, "db-internal", live=None).body
    pod = body["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["image"] == "example.org:5000/mariadb:10.11"
    writable = [each["mountPath"] for each in container["volumeMounts"] if "readOnly" not in each]
    assert "/var/lib/mysql" in writable


def test_the_volume_is_retained_by_default() -> None:
    retained = serverpod.stateful_set(SERVER, "db-internal", live=None).body["spec"]
    assert retained["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain"
    assert SERVER.storage is not None
    deleted = replace(SERVER, storage=replace(SERVER.storage, retain=False))
    spec = serverpod.stateful_set(deleted, "db-internal", live=None).body["spec"]
    assert spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"


def test_the_volume_claim_template_of_a_live_server_stays() -> None:
    assert SERVER.storage is not None
    live = dict(serverpod.stateful_set(SERVER, "db-internal", live=None).body)
    larger = replace(SERVER, storage=replace(SERVER.storage, size="9Gi", storage_class="other"))
    spec = serverpod.stateful_set(larger, "db-internal", live=live).body["spec"]
    assert spec["volumeClaimTemplates"] == live["spec"]["volumeClaimTemplates"]


def test_a_headless_service_has_no_address() -> None:
    body = serverpod.service(SERVER, "db-internal", ports=SERVER.ports, headless=True).body
    assert serverpod.cluster_ip(dict(body)) == ""
    assert serverpod.cluster_ip({"spec": {"clusterIP": "10.0.0.1"}}) == "10.0.0.1"
    assert serverpod.cluster_ip(None) == ""


def test_a_server_prefers_nodes_without_openstack_services() -> None:
    pod = serverpod.stateful_set(SERVER, "db", live=None).body["spec"]["template"]["spec"]
    (preferred,) = pod["affinity"]["nodeAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    (expression,) = preferred["preference"]["matchExpressions"]
    assert expression == {"key": manifests.CONTROL_PLANE, "operator": "DoesNotExist"}
