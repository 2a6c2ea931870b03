"""A second ControlPlane in a namespace: refused, or blocked if it got in."""

import asyncio
from typing import Any

import pytest

from cobaltcore.api.controlplane import KIND
from cobaltcore.engine.verdict import Blocked
from cobaltcore.operators.controlplane import advice, incumbent
from cobaltcore.runtime.admission import AdmissionRequest, Decision, GroupVersionKind, Operation
from cobaltcore.runtime.meta import Object
from tests.support.control_planes import NAMESPACE, a_control_plane

BEFORE, SAME, AFTER = "2025-12-31T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def another(name: str, created: str, namespace: str = NAMESPACE) -> Object:
    meta = {"name": name, "namespace": namespace, "uid": name, "creationTimestamp": created}
    return {"metadata": meta, "spec": {}}


def decision(operation: Operation, *existing: Object, **spec: Any) -> Decision:
    kind = GroupVersionKind(group=KIND.group, version=KIND.version, kind=KIND.kind)
    request = AdmissionRequest(
        uid="1",
        kind=kind,
        operation=operation,
        namespace=NAMESPACE,
        object=None if operation == "DELETE" else {"spec": spec},
    )
    validate = incumbent.validation(lambda namespace: existing, advice.warnings)
    return asyncio.run(_answer(validate(request)))


async def _answer(answer: Any) -> Decision:
    found: Decision = await answer
    return found


def test_second_control_plane_is_blocked_and_creates_nothing() -> None:
    plane = a_control_plane()
    plane.add(KIND, another("first", BEFORE))
    plan = plane.plan()
    assert plan.verdict == Blocked(incumbent.REASON, plan.verdict.message)
    assert "has the ControlPlane 'first' already" in plan.verdict.message
    assert (plan.objects, plan.prune) == ((), False)


@pytest.mark.parametrize(
    "other",
    [another("later", AFTER), another("zzz", SAME), another("first", BEFORE, "elsewhere")],
)
def test_first_control_plane_of_a_namespace_is_not_affected(other: Object) -> None:
    plane = a_control_plane()
    plane.add(KIND, other)
    assert plane.plan().objects


def test_creation_of_a_second_control_plane_is_refused() -> None:
    found = decision("CREATE", another("first", BEFORE))
    assert not found.allowed
    assert "create this one in another namespace" in found.message


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
def test_existing_control_planes_can_be_changed_and_deleted(operation: Operation) -> None:
    assert decision(operation, another("first", BEFORE), another("second", AFTER)).allowed


def test_advice_comes_with_the_decision() -> None:
    found = decision("CREATE", **{"global": {"monitoring": {"enabled": True}}})
    assert found.allowed
    assert len(found.warnings) == 1
