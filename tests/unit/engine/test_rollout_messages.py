"""A rollout reports what is missing, never a number that contradicts itself."""

from typing import Any

import pytest

from cobaltcore.engine.desired import workload


def a_deployment(*, generation: int = 2, **status: int) -> dict[str, Any]:
    return {
        "metadata": {"generation": generation},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 2, **status},
    }


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "0/2 pods of 'nova-api' ready"),
        (
            {"replicas": 2, "updatedReplicas": 1, "readyReplicas": 2},
            "1/2 pods of 'nova-api' updated",
        ),
        (
            {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1},
            "1/2 pods of 'nova-api' ready",
        ),
        (
            {"replicas": 3, "updatedReplicas": 2, "readyReplicas": 3},
            "1 old pods of 'nova-api' terminating",
        ),
    ],
)
def test_what_is_missing_is_described(status: dict[str, int], expected: str) -> None:
    found = workload.progress(a_deployment(**status))
    assert not found.settled
    assert found.describe("nova-api") == expected


def test_spec_that_is_not_observed_yet_is_not_settled() -> None:
    status = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}
    found = workload.progress(a_deployment(generation=3, **status))
    assert not found.settled
    assert found.describe("nova-api") == "the newest spec of 'nova-api' is not rolled out yet"


def test_all_pods_ready_and_no_others_is_settled() -> None:
    status = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}
    assert workload.progress(a_deployment(**status)).settled


def test_object_that_does_not_exist_yet_counts_the_wanted_pods() -> None:
    assert workload.progress(None).describe("nova-api", wanted=3) == "0/3 pods of 'nova-api' ready"
