"""A hypervisor belongs to one Nova."""

from typing import Any

import pytest

from cobaltcore.api import nova
from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.engine import chain, steps
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.desired import names
from cobaltcore.engine.verdict import Blocked
from cobaltcore.runtime.meta import Object
from cobaltcore.services.nova.steps import hypervisor
from tests.support import planning

ADDRESSES = [{"type": "InternalIP", "address": "10.0.0.1"}]
RACK = {"example.com/rack": "1"}


def a_node(**labels: str) -> tuple[Any, Object]:
    found = {"name": "hypervisor-1", "labels": {**names.HYPERVISORS, **RACK, **labels}}
    return NODE, {"metadata": found, "status": {"addresses": ADDRESSES}}


def another(*, created: str, selector: dict[str, str] | None = None) -> tuple[Any, Object]:
    """A Nova in another namespace."""
    compute = {"nodeSelector": selector} if selector else {}
    obj = planning.an_object("Nova", compute=compute)
    meta = {**obj["metadata"], "namespace": "other", "creationTimestamp": created}
    return nova.KIND, {**obj, "metadata": meta}


def a_scope(*others: tuple[Any, Object]) -> ServiceScope[Any]:
    return planning.scope(planning.an_object("Nova", dependsOn=[], compute={}), a_node(), *others)


def test_the_younger_of_two_is_blocked_and_runs_nothing_on_hypervisors() -> None:
    scope = a_scope(another(created="2025-01-01T00:00:00Z"))
    verdict = hypervisor.libvirt_runs(scope).verdict
    assert isinstance(verdict, Blocked)
    assert verdict.reason == "NodeClaimed"
    assert verdict.message.startswith(
        "node 'hypervisor-1' belongs to Nova 'other/nova' already, and two cannot share its libvirt"
    )
    outcome = chain.run(scope, steps.chain(scope))
    assert not [key for kind, key in outcome.objects if kind.kind == "DaemonSet"]


@pytest.mark.parametrize(
    "other",
    [
        another(created="2027-01-01T00:00:00Z"),
        another(created="2025-01-01T00:00:00Z", selector={"example.com/rack": "2"}),
    ],
    ids=["younger", "elsewhere"],
)
def test_the_oldest_of_those_that_select_a_node_has_it(other: tuple[Any, Object]) -> None:
    assert not isinstance(hypervisor.libvirt_runs(a_scope(other)).verdict, Blocked)
