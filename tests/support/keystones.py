"""A Keystone as a sequence of plans, with Jobs that end as a test wants."""

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from cobaltcore.api.foreign.kubernetes import JOB, SECRET
from cobaltcore.engine.desired import secret
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime.meta import Condition, Key, Object
from cobaltcore.runtime.timestamps import timestamp
from tests.support import planning
from tests.support.planning import NAMESPACE
from tests.support.simulation import Simulation


class _Random(Simulation):
    """Keys that differ."""

    def scope(self) -> Any:
        return replace(super().scope(), random=os.urandom)


class Cloud:
    """A Keystone that has come up."""

    def __init__(self, **changes: Any) -> None:
        live = planning.an_object("Keystone", **changes)
        self.simulation = _Random(ServicePlanner(planning.service("Keystone")), live)
        self.report(self.simulation.converge().conditions)

    def report(self, conditions: Iterable[Condition]) -> None:
        reported = [{"type": c.type, "status": c.status, "reason": c.reason} for c in conditions]
        self.simulation.live["status"] = {"conditions": reported}

    def reconcile(self, *, job: str = "Complete") -> Plan[Any]:
        """Plan and apply once; Jobs that it creates end with that condition, or run if it is empty."""
        before = set(self.simulation.objects)
        plan = self.simulation.plan()
        self.simulation.apply(plan)
        for each in plan.removals:
            self.simulation.objects.pop((each.kind, each.key))
            self.simulation.desired.pop((each.kind, each.key), None)
        for kind, key in set(self.simulation.objects) - before:
            if kind == JOB:
                self.end(key, job)
        self.report(plan.conditions)
        return plan

    def end(self, key: Key, job: str) -> None:
        at = timestamp(self.simulation.now)
        condition = {"type": job, "status": "True", "lastTransitionTime": at, "message": "why"}
        self.simulation.objects[JOB, key]["status"] = {"conditions": [condition] if job else []}

    def later(self, time: timedelta) -> None:
        self.simulation.now += time

    def keys(self, name: str) -> dict[str, str]:
        return secret.texts(self.object(name))

    def object(self, name: str) -> Object:
        return self.simulation.objects[SECRET, Key(NAMESPACE, name)]

    def jobs(self, name: str = "credential-migrate") -> list[Object]:
        found = (obj for (kind, _), obj in self.simulation.objects.items() if kind == JOB)
        return [each for each in found if name in each["metadata"]["name"]]

    def condition(self, plan: Plan[Any], type_: str) -> tuple[str, str, str]:
        found = next(each for each in plan.conditions if each.type == type_)
        return found.status, found.reason, found.message
