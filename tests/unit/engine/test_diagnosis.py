"""The first broken link, from facts: every kind of object that can break."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cobaltcore.api.foreign import certmanager, eso, mariadb
from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    EVENT,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.ovn import CHASSIS
from cobaltcore.engine.diagnosis import walk
from cobaltcore.engine.diagnosis.facts import Facts, Named
from cobaltcore.runtime.meta import Key, Kind, Object, key_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an_object(kind: Kind, name: str, **fields: Any) -> Object:
    meta = {"name": name, "uid": f"{kind.kind}-{name}", "generation": 1}
    place = {"namespace": "cloud"} if kind.namespaced else {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": meta | place | fields.pop("metadata", {}),
        **fields,
    }


def facts(*objects: tuple[Kind, Object], **further: Any) -> Facts:
    found: dict[Kind, dict[Key, Object]] = {}
    for kind, each in objects:
        found.setdefault(kind, {})[key_of(each)] = each
    return Facts(now=NOW, objects=found, **further)


def cause(known: Facts, kind: Kind, name: str) -> tuple[str, str, str]:
    start = Named(kind, Key("cloud" if kind.namespaced else "", name))
    broken = walk.first_broken(known, start)
    if broken is None:
        return "", "", ""
    return str(broken.cause.at), broken.cause.reason, broken.cause.message


def a_condition(type_: str, status: str, message: str = "", reason: str = "") -> dict[str, Any]:
    return {
        "conditions": [{"type": type_, "status": status, "message": message, "reason": reason}]
    }


def a_pod(name: str, *, node: str = "", claim: str = "", **status: Any) -> tuple[Kind, Object]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    spec = {"nodeName": node, "volumes": volumes}
    metadata = {"labels": {"of": "mariadb", "app.kubernetes.io/part-of": "cobaltcore"}}
    return POD, an_object(POD, name, spec=spec, status=status, metadata=metadata)


UNBOUND = a_pod(
    "mariadb-0",
    claim="data",
    conditions=[{"type": "PodScheduled", "status": "False", "message": "unbound claims"}],
)
PROVISIONER = (
    EVENT,
    an_object(
        EVENT,
        "e",
        type="Warning",
        note="no space left in pool",
        regarding={"kind": "PersistentVolumeClaim", "name": "data", "namespace": "cloud"},
    ),
)


def a_claim(**spec: Any) -> tuple[Kind, Object]:
    status = {"phase": "Pending"}
    return PERSISTENT_VOLUME_CLAIM, an_object(
        PERSISTENT_VOLUME_CLAIM, "data", spec=spec, status=status
    )


@pytest.mark.parametrize(
    ("claim", "reason", "message"),
    [
        (a_claim(storageClassName="fast"), "StorageClassMissing", "'fast' does not exist"),
        (a_claim(), "Pending", "no space left in pool"),
    ],
)
def test_the_claim_of_a_pod_that_is_not_scheduled(
    claim: tuple[Kind, Object], reason: str, message: str
) -> None:
    seen = cause(facts(UNBOUND, claim, PROVISIONER), POD, "mariadb-0")
    assert seen[:2] == ("PersistentVolumeClaim 'data'", reason)
    assert message in seen[2]


def test_the_node_of_a_pod_comes_before_the_pod() -> None:
    node = an_object(NODE, "n1", status=a_condition("Ready", "Unknown", "kubelet is silent"))
    pod = a_pod("mariadb-0", node="n1", conditions=[])
    seen = cause(facts((NODE, node), pod), POD, "mariadb-0")
    assert seen[0] == "Node 'n1'"
    assert "kubelet is silent" in seen[2]


def test_an_evicted_pod() -> None:
    pod = a_pod("mariadb-0", reason="Evicted", message="low on ephemeral-storage")
    assert cause(facts(pod), POD, "mariadb-0")[1] == "Evicted"


def test_pods_of_a_set_that_are_not_created_for_a_reason_in_an_event() -> None:
    spec = {"selector": {"matchLabels": {"of": "ovs"}}}
    status = {"desiredNumberScheduled": 1, "observedGeneration": 1}
    daemons = an_object(DAEMON_SET, "ovs", spec=spec, status=status)
    about = {"kind": "DaemonSet", "name": "ovs", "namespace": "cloud"}
    note = "violates PodSecurity: privileged"
    event = an_object(
        EVENT, "e", type="Warning", reason="FailedCreate", note=note, regarding=about
    )
    seen = cause(facts((DAEMON_SET, daemons), (EVENT, event)), DAEMON_SET, "ovs")
    assert seen[1] == "FailedCreate"
    assert note in seen[2]


def test_an_object_that_its_operator_does_not_report_on() -> None:
    database = an_object(mariadb.MARIADB, "mariadb", spec={})
    assert (
        cause(facts((mariadb.MARIADB, database)), mariadb.MARIADB, "mariadb")[1] == "NotReported"
    )


def test_a_stateful_set_below_the_object_of_a_third_party() -> None:
    down = a_condition("Ready", "False", "0/1 pods")
    database = an_object(mariadb.MARIADB, "mariadb", spec={}, status=down)
    owner = {"ownerReferences": [{"uid": "MariaDB-mariadb"}]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"of": "mariadb"}}}
    servers = an_object(STATEFUL_SET, "mariadb", spec=spec, metadata=owner)
    known = facts((mariadb.MARIADB, database), (STATEFUL_SET, servers))
    assert cause(known, mariadb.MARIADB, "mariadb")[:2] == (
        "StatefulSet 'mariadb'",
        "ScaledToZero",
    )


def test_a_certificate_that_nobody_renewed() -> None:
    status = {"notAfter": "2025-12-31T00:00:00Z", **a_condition("Ready", "True")}
    expired = an_object(certmanager.CERTIFICATE, "tls", spec={}, status=status)
    seen = cause(facts((certmanager.CERTIFICATE, expired)), certmanager.CERTIFICATE, "tls")
    assert seen[1] == "Expired"


def test_who_should_have_written_a_secret() -> None:
    down = a_condition("Ready", "False", "vault is sealed", "SecretSyncedError")
    spec = {"target": {"name": "login"}}
    writer = an_object(eso.EXTERNAL_SECRET, "other", spec=spec, status=down)
    seen = cause(facts((eso.EXTERNAL_SECRET, writer)), SECRET, "login")
    assert seen[:2] == ("ExternalSecret 'other'", "SecretSyncedError")


def test_a_service_without_endpoints_and_the_pod_behind_it() -> None:
    service = an_object(SERVICE, "db", spec={"selector": {"of": "mariadb"}})
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "denied"}}
    pod = a_pod("mariadb-0", containerStatuses=[{"name": "m", "state": waiting}])
    seen = cause(facts((SERVICE, service), pod), SERVICE, "db")
    assert seen[:2] == ("Pod 'mariadb-0'", "ErrImagePull")


def test_a_hypervisor_is_its_node_its_pods_and_its_chassis() -> None:
    labels = {"labels": {"node-role.kubernetes.io/hypervisor": ""}}
    healthy = a_condition("Ready", "True")
    node = (NODE, an_object(NODE, "n1", status=healthy, metadata=labels))
    running = a_pod("ovs", node="n1", **healthy)
    down = a_condition("Ready", "False", "no heartbeat for 60 s", "HeartbeatLost")
    down["conditions"][0]["observedGeneration"] = 1
    chassis = (CHASSIS, an_object(CHASSIS, "n1", spec={}, status=down))
    start = Named(NODE, Key("", "n1"))
    ended = a_pod("db-sync", node="n1", phase="Failed")
    assert walk.broken_hypervisor(facts(node, running, ended), start) is None
    broken = walk.broken_hypervisor(facts(node, running, chassis), start)
    assert broken is not None
    assert (str(broken.cause.at), broken.cause.reason) == ("OVNChassis 'n1'", "HeartbeatLost")
