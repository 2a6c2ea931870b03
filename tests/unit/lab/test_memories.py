"""Pods that say Ready from before their node went down."""

from cobaltcore.lab import memories
from cobaltcore.runtime.meta import Object


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


def test_only_the_word_of_being_ready_is_taken_back() -> None:
    patch = memories.withdrawn(a_pod(ready="True"))

    told = {each["type"]: each["status"] for each in patch["status"]["conditions"]}
    assert told == {"PodScheduled": "True", "Ready": "False", "ContainersReady": "False"}


def test_what_the_kubelet_has_told_meanwhile_stands() -> None:
    assert memories.withdrawn(a_pod(ready="True"))["metadata"] == {"resourceVersion": "7"}


def test_a_pod_that_does_not_serve_is_left_alone() -> None:
    new = {"metadata": {"name": "new"}, "spec": {"nodeName": "node-1"}}
    serving = a_pod(ready="True")

    assert memories.stale([a_pod(ready="False"), new, serving], {"node-1"}) == [serving]


def test_pods_of_nodes_that_ran_on_are_left_alone() -> None:
    assert memories.stale([a_pod(ready="True")], {"node-2"}) == []
