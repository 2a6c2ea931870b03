"""From a walk over the parts to the status of an OVNCluster. Pure."""

from collections.abc import Sequence

import msgspec

from cobaltcore.api.ovn import Endpoints, OVNClusterStatus
from cobaltcore.engine.chain import ALL_READY
from cobaltcore.engine.graph import Walk
from cobaltcore.engine.verdict import Ready, Verdict, blaming, condition
from cobaltcore.operators.ovn import chassis, databases
from cobaltcore.operators.ovn.parts import CONDITIONS
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Condition


def status(view: View) -> OVNClusterStatus:
    """Endpoints and figures; figures keep their values while the database is unreachable."""
    found = msgspec.structs.replace(
        view.status or OVNClusterStatus(chassis_count=0, active_controllers=0),
        endpoints=Endpoints(
            northbound=databases.NORTHBOUND.endpoint(view),
            southbound=databases.SOUTHBOUND.endpoint(view),
        ),
    )
    if view.records is None:
        return found
    alive = chassis.alive(view)
    return msgspec.structs.replace(
        found, chassis_count=len(view.records), active_controllers=len(alive)
    )


def conditions(walk: Walk) -> tuple[Verdict, Sequence[Condition]]:
    """The verdict on the whole, from the first part that is not ready, and that on each group."""
    verdict: Verdict = Ready(ALL_READY)
    if walk.blocker is not None:
        verdict = blaming(*walk.blocker)
    return verdict, [condition(type_, _of(walk, parts)) for type_, parts in CONDITIONS.items()]


def _of(walk: Walk, parts: tuple[str, ...]) -> Verdict:
    known = [walk.verdicts[part] for part in parts if part in walk.verdicts]
    return next((each for each in known if not isinstance(each, Ready)), known[-1])
