"""From a walk over the parts to the status of an OVNCluster. Pure."""

from typing import Any

import msgspec

from cobaltcore.api.ovn import Endpoints, OVNClusterStatus
from cobaltcore.engine.graph import Walk
from cobaltcore.engine.plan import ALL_READY
from cobaltcore.engine.verdict import Ready, Verdict, Waiting, condition
from cobaltcore.operators.ovn import chassis, databases
from cobaltcore.operators.ovn.parts import CONDITIONS
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition


def status(view: View, walk: Walk, problem: str = "") -> dict[str, Any]:
    """The whole status; figures stay as they were while the database is silent."""
    before = view.cluster.status or OVNClusterStatus()
    generation = view.cluster.metadata.generation
    count, active = before.chassis_count or 0, before.active_controllers or 0
    if view.records is not None:
        count = len(view.records)
        alive = [each for each in view.records.values() if chassis.is_alive(each, view.now)]
        active = len(alive)
    told = OVNClusterStatus(
        conditions=conditions.merge(
            before.conditions, _conditions(walk, problem), now=view.now, generation=generation
        ),
        observed_generation=generation,
        endpoints=Endpoints(
            northbound=databases.NORTHBOUND.endpoint(view),
            southbound=databases.SOUTHBOUND.endpoint(view),
        ),
        chassis_count=count,
        active_controllers=active,
    )
    built: dict[str, Any] = msgspec.to_builtins(told)
    return built


def _conditions(walk: Walk, problem: str) -> list[Condition]:
    return [
        condition("Ready", _ready(walk, problem)),
        *(condition(type_, _of(walk, parts)) for type_, parts in CONDITIONS.items()),
    ]


def _ready(walk: Walk, problem: str) -> Verdict:
    """Names the first part that is not ready although its needs are met."""
    if problem:
        return Waiting("NameTaken", problem)
    if walk.blocker is None:
        return Ready(ALL_READY)
    name, verdict = walk.blocker
    return Waiting(verdict.reason, f"{name}: {verdict.message}")


def _of(walk: Walk, parts: tuple[str, ...]) -> Verdict:
    known = [walk.verdicts[part] for part in parts if part in walk.verdicts]
    return next((each for each in known if not isinstance(each, Ready)), known[-1])
