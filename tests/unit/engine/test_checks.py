"""What `cobalt doctor` finds in a cluster, each problem with its fix."""

from datetime import timedelta
from typing import Any

import pytest

from cobaltcore.api import base, keystone
from cobaltcore.api.foreign import mariadb
from cobaltcore.api.foreign.kubernetes import (
    DEPLOYMENT,
    ENDPOINT_SLICE,
    NODE,
    SERVICE,
    STORAGE_CLASS,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.engine.diagnosis import checks
from cobaltcore.engine.diagnosis.facts import Facts, Named
from cobaltcore.runtime.meta import Key, Kind, Object
from tests.unit.engine.test_diagnosis import NOW, a_condition, an_object, facts

OPERATORS = Named(DEPLOYMENT, Key("cloud", "cobalt-operators"))


def in_system(kind: Kind, name: str, **parts: Any) -> tuple[Kind, Object]:
    found = an_object(kind, name, **parts)
    found["metadata"]["namespace"] = "kube-system"
    return kind, found


def operators(replicas: int) -> tuple[Kind, Object]:
    fields = ("replicas", "readyReplicas", "updatedReplicas")
    status = {**dict.fromkeys(fields, replicas), "observedGeneration": 1}
    spec = {"replicas": replicas, "selector": {}}
    return DEPLOYMENT, an_object(DEPLOYMENT, "cobalt-operators", spec=spec, status=status)


def healthy() -> list[tuple[Kind, Object]]:
    labels = {"node-role.kubernetes.io/hypervisor": ""}
    node = an_object(NODE, "n1", metadata={"labels": labels}, status=a_condition("Ready", "True"))
    chosen = {"annotations": {checks.DEFAULT_CLASS: "true"}}
    of_dns = {"labels": {"kubernetes.io/service-name": "kube-dns"}}
    return [
        (NODE, node),
        (STORAGE_CLASS, an_object(STORAGE_CLASS, "local", metadata=chosen)),
        in_system(SERVICE, "kube-dns", spec={}),
        in_system(ENDPOINT_SLICE, "dns", metadata=of_dns, endpoints=[{}]),
        operators(1),
    ]


def failed(known: Facts) -> dict[str, tuple[str, str]]:
    return {e.name: (e.message, e.fix) for e in checks.checks(known) if not e.ok}


def test_a_healthy_cluster_passes_every_check() -> None:
    assert failed(facts(*healthy(), platform=[OPERATORS])) == {}


def test_an_empty_cluster_names_what_is_missing() -> None:
    unserved = frozenset({*(each.kind for each in base.definitions()), mariadb.MARIADB})
    found = failed(facts(unserved=unserved))
    assert set(found) == {
        "CRDs", "third party k8s.mariadb.com", "operators", "DNS", "storage", "hypervisors",
    }  # fmt: skip
    assert "Keystone" in found["CRDs"][0]
    assert "cobalt crds" in found["CRDs"][1]
    assert "mariadb-operator" in found["third party k8s.mariadb.com"][1]


def test_operators_at_zero_replicas_with_the_command_that_starts_them() -> None:
    found = failed(facts(*healthy()[:-1], operators(0), platform=[OPERATORS]))
    message, fix = found["operators cobalt-operators"]
    assert "scaled to 0" in message
    assert fix.endswith("scale deployments.apps cobalt-operators --replicas=1")


def test_a_webhook_without_a_pod_behind_it() -> None:
    hook = {"name": "a", "clientConfig": {"service": {"namespace": "gone", "name": "policy"}}}
    configuration = an_object(VALIDATING_WEBHOOK_CONFIGURATION, "policy", webhooks=[hook])
    known = facts(
        *healthy(), (VALIDATING_WEBHOOK_CONFIGURATION, configuration), platform=[OPERATORS]
    )
    assert "Service 'policy' does not exist" in failed(known)["webhook policy"][0]
    assert checks.webhook_namespaces([configuration]) == {"gone"}


def test_an_expired_certificate() -> None:
    dates = {Key("cloud", "own-tls"): NOW - timedelta(days=1)}
    dates[Key("cloud", "new")] = NOW + timedelta(days=1)
    found = failed(facts(*healthy(), platform=[OPERATORS], expiries=dates))
    assert list(found) == ["certificate own-tls"]


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_that_is_not_ready(status: str) -> None:
    others = [each for each in healthy() if each[0] != NODE]
    node = an_object(NODE, "n2", status=a_condition("Ready", status, "kubelet is silent"))
    found = failed(facts(*others, (NODE, node), platform=[OPERATORS]))
    assert "kubelet is silent" in found["node n2"][0]


def test_kinds_of_ours_are_counted() -> None:
    found = failed(facts(*healthy(), platform=[OPERATORS], unserved=frozenset({keystone.KIND})))
    number = len(base.definitions())
    assert found["CRDs"][0] == f"{number - 1}/{number} kinds served; missing: Keystone"
