"""Pods with a stale Ready condition from before their node restarted."""

from cobaltcore.runtime.meta import Object
from cobaltlab import stalepods


def a_pod(*, ready: str) -> Object:
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": ready},
        {"type": "ContainersReady", "status": ready},
    ]
    return {
        "metadata": {"name": "api", "namespace": "cloud", "resourceVersion": "7"},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Running", "conditions": conditions},
    }


def test_only_ready_conditions_are_set_to_false() -> None:
    patch = stalepods.not_ready_patch(a_pod(ready="True"))

    conditions = {each["type"]: each["status"] for each in patch["status"]["conditions"]}
    assert conditions == {"PodScheduled": "True", "Ready": "False", "ContainersReady": "False"}


def test_the_patch_conflicts_with_a_newer_status() -> None:
    assert stalepods.not_ready_patch(a_pod(ready="True"))["metadata"] == {"resourceVersion": "7"}


def test_a_pod_that_is_not_ready_is_unchanged() -> None:
    new = {"metadata": {"name": "new"}, "spec": {"nodeName": "node-1"}}
    serving = a_pod(ready="True")

    assert stalepods.stale([a_pod(ready="False"), new, serving], {"node-1"}) == [serving]


def test_pods_of_other_nodes_are_unchanged() -> None:
    assert stalepods.stale([a_pod(ready="True")], {"node-2"}) == []
