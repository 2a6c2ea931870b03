"""ControlPlane: the graph of its parts, as objects and as status. Pure."""

from collections.abc import Iterable

from cobaltcore.api import ovn
from cobaltcore.api.controlplane import ControlPlane, ControlPlaneSpec, ControlPlaneStatus
from cobaltcore.api.credentials import AGGREGATE, ROTATION
from cobaltcore.api.foreign import certmanager, eso, korc, mariadb, rabbitmq, rook, valkey
from cobaltcore.api.foreign.kubernetes import (
    JOB,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine import graph, watches
from cobaltcore.engine.desired import names
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.planner import Child, Planner
from cobaltcore.engine.watches import CONTENT, OPTIONAL, OURS
from cobaltcore.operators.controlplane import (
    available,
    identity,
    incumbent,
    report,
    teardown,
)
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import OPERATOR, View
from cobaltcore.runtime.meta import Key, Kind

CHILDREN = (
    Child(mariadb.MARIADB, OPTIONAL),
    Child(rabbitmq.CLUSTER, OPTIONAL),
    Child(valkey.VALKEY, OPTIONAL),
    Child(STATEFUL_SET),
    Child(SERVICE, OURS),
    Child(POD_DISRUPTION_BUDGET, OURS),
    # Passwords of data that stays are not deleted with the part that generated them.
    Child(SECRET, CONTENT, pruned=False),
    Child(JOB, OURS),
    Child(certmanager.ISSUER, OPTIONAL),
    Child(certmanager.CERTIFICATE, OPTIONAL),
    Child(rook.CEPH_BLOCK_POOL, OPTIONAL),
    Child(rook.CEPH_CLIENT, OPTIONAL),
    Child(korc.DOMAIN, OPTIONAL),
    Child(korc.PROJECT, OPTIONAL),
    Child(korc.ROLE, OPTIONAL),
    Child(korc.SERVICE, OPTIONAL),
    Child(korc.ENDPOINT, OPTIONAL),
    Child(korc.USER, OPTIONAL),
    Child(korc.ROLE_ASSIGNMENT, OPTIONAL),
    Child(eso.PUSH_SECRET, OPTIONAL),
    Child(eso.EXTERNAL_SECRET, OPTIONAL),
    Child(ROTATION),
    Child(AGGREGATE),
    *(Child(service.kind) for service in available.all_services()),
    Child(ovn.CLUSTER),
)
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
        watches.in_namespace(rook.CEPH_CLUSTER, OPTIONAL),
        incumbent.DELETIONS,
    )

    def references(self, key: Key, spec: ControlPlaneSpec) -> Iterable[tuple[Kind, Key]]:
        tls = spec.global_.tls
        external = (tls.secret_ref.name,) if tls and tls.secret_ref else ()
        return [(SECRET, Key(key.namespace, name)) for name in (*READ_SECRETS, *external)]

    def contents(self, scope: View) -> Iterable[tuple[Kind, Key]]:
        return self.references(scope.key, scope.spec)

    def plan(self, scope: View) -> Plan[ControlPlaneStatus]:
        if (conflict := incumbent.conflict(scope)) is not None:
            return conflict
        walk = graph.walk(PARTS, scope)
        verdict, conditions = report.conditions(walk)
        wanted = {(each.kind, each.key) for each in (*walk.apply, *walk.expected)}
        off = teardown.disabled(scope)
        return Plan(
            verdict=verdict,
            conditions=conditions,
            status=report.status(scope, walk),
            objects=walk.apply,
            links=walk.links,
            # Parts that are off share Secrets with others, and are deleted in order, not pruned.
            removals=[each for each in off.removals if (each.kind, each.key) not in wanted],
            keep={*wanted, *off.present},
            prune=True,
        )

    def teardown(self, scope: View) -> Plan[ControlPlaneStatus]:
        return teardown.plan(scope)
