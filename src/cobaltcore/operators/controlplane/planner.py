"""ControlPlane: the graph of its parts, as objects and as status. Pure."""

from collections.abc import Iterable

from cobaltcore.api.controlplane import ControlPlane, ControlPlaneSpec, ControlPlaneStatus
from cobaltcore.api.foreign import rook
from cobaltcore.api.foreign.kubernetes import NODE, SECRET
from cobaltcore.engine import graph, watches
from cobaltcore.engine.desired import names
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.watches import CONTENT, OPTIONAL
from cobaltcore.operators.controlplane import (
    identity,
    incumbent,
    policies,
    report,
    teardown,
)
from cobaltcore.operators.controlplane.children import CHILDREN
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import OPERATOR, View
from cobaltcore.runtime.meta import Key, Kind

READ_SECRETS = (names.admin_login(identity.KEYSTONE), names.certificate_secret(identity.KEYSTONE))
"""Secrets whose content is copied into other objects."""


class ControlPlanePlanner(Planner[View]):
    """Plans all parts of a cloud."""

    name = "controlplane"
    manager = "c5c3-operator"
    resource = ControlPlane
    scope = View
    finalizer = teardown.FINALIZER
    children = CHILDREN
    watches = (
        *(watches.labelled(child.kind, OPERATOR, child.scope) for child in CHILDREN),
        watches.referenced(SECRET, CONTENT),
        watches.pods(OPERATOR),
        watches.everyone(NODE),
        watches.in_namespace(rook.CEPH_CLUSTER, OPTIONAL),
        incumbent.DELETIONS,
    )

    def references(self, key: Key, spec: ControlPlaneSpec) -> Iterable[tuple[Kind, Key]]:
        # A user may create the password of a server again; nothing here reads it.
        return [*_read(key.namespace), (SECRET, Key(key.namespace, names.MARIADB_ROOT))]

    def contents(self, scope: View) -> Iterable[tuple[Kind, Key]]:
        return _read(scope.namespace)

    def plan(self, scope: View) -> Plan[ControlPlaneStatus]:
        if (conflict := incumbent.conflict(scope)) is not None:
            return conflict
        walk = graph.walk(PARTS, scope)
        verdict, conditions = report.conditions(walk)
        guards = list(policies.objects(scope))
        wanted = {(each.kind, each.key) for each in (*guards, *walk.apply, *walk.expected)}
        off = teardown.disabled(scope)
        return Plan(
            verdict=verdict,
            conditions=conditions,
            status=report.status(scope, walk),
            objects=[*guards, *walk.apply],
            links=walk.links,
            # Parts that are off share Secrets with others, and are deleted in order, not pruned.
            removals=[each for each in off.removals if (each.kind, each.key) not in wanted],
            keep={*wanted, *off.present},
            prune=True,
        )

    def teardown(self, scope: View) -> Plan[ControlPlaneStatus]:
        return teardown.plan(scope)


def _read(namespace: str) -> list[tuple[Kind, Key]]:
    """Secrets whose content planning needs."""
    return [(SECRET, Key(namespace, name)) for name in READ_SECRETS]
