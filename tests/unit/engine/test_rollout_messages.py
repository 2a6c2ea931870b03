"""A rollout reports what is missing, never a number that contradicts itself."""

import itertools
import re
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
            "1 old pod of 'nova-api' terminating",
        ),
    ],
)
def test_what_is_missing_is_described(status: dict[str, int], expected: str) -> None:
    found = workload.progress(a_deployment(**status))
    assert not found.settled
    assert found.describe("nova-api") == expected


@pytest.mark.parametrize("numbers", list(itertools.product(range(4), repeat=4)))
def test_no_number_contradicts_what_is_said(numbers: tuple[int, int, int, int]) -> None:
    """As long as pods are waited for, fewer than wanted are counted, or old ones are left."""
    wanted, ready, updated, existing = numbers
    found = workload.Progress(
        ready=min(ready, existing),
        wanted=wanted,
        updated=min(updated, existing),
        existing=existing,
        observed=True,
    )
    text = found.describe("nova-api", wanted=wanted)
    if found.settled or not wanted:
        return
    if counted := re.match(r"(\d+)/(\d+) pods", text):
        assert int(counted[1]) < int(counted[2]), (found, text)
    else:
        old = re.match(r"(\d+) old pods? of", text)
        assert old, (found, text)
        assert int(old[1]) > 0, (found, text)


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


def test_a_deployment_without_pods_that_wants_none_is_not_counted() -> None:
    found = workload.progress(a_deployment(generation=3))
    assert "0/0" not in found._replace(wanted=0).describe("nova-api")
