"""What a cluster lacks is listed as a whole, each with a command."""

from typing import Any

from cobaltcore.engine.diagnosis import preflight
from cobaltcore.engine.diagnosis.checks import Check
from cobaltcore.engine.diagnosis.preflight import Target
from cobaltcore.runtime.meta import Object

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
HYPERVISOR = {"node-role.kubernetes.io/hypervisor": ""}


def node(*, ready: str = "True", cordoned: bool = False) -> Object:
    return {
        "metadata": {"name": "a", "labels": HYPERVISOR},
        "spec": {"unschedulable": cordoned},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def deployment(image: str, ready: int = 1) -> Object:
    return {
        "metadata": {"name": "operator", "namespace": "there"},
        "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
        "status": {"readyReplicas": ready},
    }


def target(**changes: Any) -> Target:
    known: dict[str, Any] = {
        "version": "v1.34.4",
        "unserved": frozenset(),
        "nodes": [node()],
        "classes": [{"metadata": {"name": "fast", "annotations": DEFAULT}}],
        "deployments": [],
    }
    return Target(**{**known, **changes})


def failed(**changes: Any) -> list[Check]:
    return [each for each in preflight.checks(target(**changes)) if not each.ok]


def test_nothing_is_missing() -> None:
    assert failed() == []


def test_everything_that_is_missing_is_listed_at_once_with_its_command() -> None:
    found = failed(
        version="v1.30.9",
        unserved=frozenset(preflight.kinds()),
        nodes=[],
        classes=[],
        denied={"clusterroles": ["escalate"]},
    )
    assert len(found) == len(preflight.checks(target()))
    assert all(each.fix for each in found)
    assert found[0].message == "v1.30.9 is older than 1.31"


def test_version_of_a_third_party_is_that_of_its_image() -> None:
    found = preflight.checks(
        target(deployments=[deployment("r.example/mariadb-operator:25.10.4")])
    )
    messages = [each.message for each in found]
    assert "mariadb-operator 25.10.4 in 'there/operator'" in messages


def test_third_party_without_a_ready_pod_is_missing() -> None:
    image = "r.example/mariadb-operator:25@sha256:0"
    (found,) = failed(deployments=[deployment(image, ready=0)])
    assert "0/1 pods of Deployment 'there/operator' ready" in found.message
    assert found.fix == "kubectl -n there describe deployment operator"


def test_cordoned_nodes_and_nodes_that_are_not_ready_do_not_count() -> None:
    found = failed(nodes=[node(ready="False"), node(cordoned=True)])
    assert [each.name for each in found] == ["nodes", "hypervisors"]


def test_a_storage_class_has_to_be_the_default() -> None:
    (found,) = failed(classes=[{"metadata": {"name": "fast"}}])
    assert "fast" in found.message
    assert found.fix.startswith("kubectl annotate storageclass")
