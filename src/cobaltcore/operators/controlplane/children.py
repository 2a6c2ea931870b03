"""Kinds that a ControlPlane creates objects of, and to which part of it objects belong. Pure."""

from collections.abc import Iterator, Mapping

from cobaltcore.api import ovn
from cobaltcore.api.credentials import AGGREGATE, ROTATION
from cobaltcore.api.foreign import certmanager, eso, korc, mariadb, rabbitmq, rook, valkey
from cobaltcore.api.foreign.kubernetes import (
    JOB,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine.planner import Child
from cobaltcore.engine.watches import CONTENT, OPTIONAL, OURS
from cobaltcore.operators.controlplane import available
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Kind, Object, ownership

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
    Child(NETWORK_POLICY, OURS),
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
OF_KIND: Mapping[Kind, str] = {
    mariadb.MARIADB: "mariadb",
    rabbitmq.CLUSTER: "rabbitmq",
    valkey.VALKEY: "valkey",
    certmanager.ISSUER: "certificates",
    certmanager.CERTIFICATE: "certificates",
    rook.CEPH_BLOCK_POOL: "ceph",
    rook.CEPH_CLIENT: "ceph",
    ovn.CLUSTER: "ovn",
    korc.DOMAIN: "korc",
    korc.PROJECT: "korc",
    korc.ROLE: "korc",
    korc.SERVICE: "catalogue",
    korc.ENDPOINT: "catalogue",
    JOB: "catalogue",
    **{service.kind: service.name for service in available.all_services()},
}
"""The part that objects of a kind belong to."""
CREDENTIALS = frozenset(
    {ROTATION, AGGREGATE, korc.USER, korc.ROLE_ASSIGNMENT, eso.PUSH_SECRET, eso.EXTERNAL_SECRET}
)
"""Kinds of which every service with a user has objects, named after it."""


def owned(view: View) -> Iterator[tuple[Kind, Object]]:
    """Everything that exists of a ControlPlane, whatever its spec is; what is kept has no owner."""
    for child in CHILDREN:
        for each in view.observed.find(child.kind, "owner", ownership(view.live)):
            yield child.kind, each


def part_of(kind: Kind, name: str) -> str:
    """The part that an object belongs to; empty if it can be deleted with the ControlPlane."""
    if kind not in CREDENTIALS:
        return OF_KIND.get(kind, "")
    services = (each.name for each in available.with_user())
    found = (f"{each}-credentials" for each in services if name.startswith(f"{each}-"))
    return next(found, "catalogue")
