"""Why pods do not start, from the status that kubelet and scheduler report."""

from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine import podfailures
from cobaltcore.engine.desired import names
from cobaltcore.engine.observed import Observed
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.store import Store

SELECTOR = names.selector("nova", "nova", "api")


def a_pod(status: dict[str, Any]) -> Object:
    meta = {"name": "nova-api-1", "namespace": "cloud", "labels": SELECTOR, "resourceVersion": "1"}
    return {"metadata": meta, "status": status}


def waiting(reason: str, message: str = "", **other: Any) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"containerStatuses": [{"name": "api", "state": state, **other}]}


def failure(*pods: Object) -> str:
    store = Store()
    store.add_index(podfailures.INDEX, podfailures.by_set)
    for pod in pods:
        store.put(CachedObject.of(pod))

    def lookup(kind: Kind, key: Key) -> Object | None:
        return store.get(key) if kind == POD else None

    observed = Observed(lookup, lambda kind, index, value: store.find(index, value))
    return podfailures.of(observed, "cloud", SELECTOR)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            waiting("ImagePullBackOff", "no such image"),
            "; pod 'nova-api-1': api: ImagePullBackOff: no such image",
        ),
        (
            waiting("CrashLoopBackOff", "back-off", lastState={"terminated": {"exitCode": 7}}),
            "; pod 'nova-api-1': api: CrashLoopBackOff: exit code 7",
        ),
        (
            waiting("CrashLoopBackOff", lastState={"terminated": {"message": "a\nno database\n"}}),
            "; pod 'nova-api-1': api: CrashLoopBackOff: no database",
        ),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "no memory"}]},
            "; pod 'nova-api-1': not scheduled: no memory",
        ),
    ],
)
def test_the_cause_is_reported(status: dict[str, Any], expected: str) -> None:
    assert failure(a_pod(status)) == expected


@pytest.mark.parametrize(
    "status",
    [{}, waiting("ContainerCreating"), {"containerStatuses": [{"name": "api", "state": {}}]}],
)
def test_a_pod_that_is_about_to_start_is_no_failure(status: dict[str, Any]) -> None:
    assert failure(a_pod(status)) == ""


def test_pods_of_others_are_not_looked_at() -> None:
    other = a_pod(waiting("ImagePullBackOff"))
    other["metadata"]["labels"] = names.selector("nova", "nova", "metadata")
    assert failure(other) == ""
