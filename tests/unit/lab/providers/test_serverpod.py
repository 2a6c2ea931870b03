"""A server as a StatefulSet: restricted rights, one volume, nothing that cannot be changed later."""

from dataclasses import replace

import pytest

from cobaltcore.lab import manifests
from cobaltcore.lab.providers import serverpod
from cobaltcore.runtime.meta import Key

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
    resources={"requests": {"memory": "1Mi"}},
    volume=serverpod.Volume("storage", "/var/lib/mysql", "1Gi"),
)


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("example.org:5000/a/b:1.2", ("example.org:5000/a/b", "1.2", None)),
        ("example.org:5000/a/b", ("example.org:5000/a/b", "latest", None)),
        ("a", ("a", "latest", None)),
        ("a@sha256:12", ("a", None, "sha256:12")),
    ],
)
def test_image_references_have_parts(
    reference: str, parts: tuple[str, str | None, str | None]
) -> None:
    found = serverpod.image(reference)
    assert (found.repository, found.tag, found.digest) == parts


def test_a_pod_has_no_rights_and_cannot_write_outside_its_volume() -> None:
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


def test_data_is_kept_unless_someone_says_otherwise() -> None:
    kept = serverpod.stateful_set(SERVER, "db-internal", live=None).body["spec"]
    assert kept["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain"
    assert SERVER.volume is not None
    removed = replace(SERVER, volume=replace(SERVER.volume, keep=False))
    spec = serverpod.stateful_set(removed, "db-internal", live=None).body["spec"]
    assert spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"


def test_the_claim_of_a_live_server_stays() -> None:
    assert SERVER.volume is not None
    live = dict(serverpod.stateful_set(SERVER, "db-internal", live=None).body)
    larger = replace(SERVER, volume=replace(SERVER.volume, size="9Gi", storage_class="other"))
    spec = serverpod.stateful_set(larger, "db-internal", live=live).body["spec"]
    assert spec["volumeClaimTemplates"] == live["spec"]["volumeClaimTemplates"]


def test_a_headless_service_has_no_address() -> None:
    body = serverpod.service(SERVER, "db-internal", ports=SERVER.ports, headless=True).body
    assert serverpod.cluster_ip(dict(body)) == ""
    assert serverpod.cluster_ip({"spec": {"clusterIP": "10.0.0.1"}}) == "10.0.0.1"
    assert serverpod.cluster_ip(None) == ""


def test_a_server_leaves_the_node_of_services_to_them_if_it_can() -> None:
    pod = serverpod.stateful_set(SERVER, "db", live=None).body["spec"]["template"]["spec"]
    (preferred,) = pod["affinity"]["nodeAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    (told,) = preferred["preference"]["matchExpressions"]
    assert told == {"key": manifests.CONTROL_PLANE, "operator": "DoesNotExist"}
