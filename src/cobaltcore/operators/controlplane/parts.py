"""The parts of a control plane and what they need: the deployment graph as data."""

from collections.abc import Callable, Iterable
from functools import partial

from cobaltcore.api import cinder, glance, neutron, nova, placement
from cobaltcore.api import keystone as keystone_kind
from cobaltcore.api.foreign import mariadb, valkey
from cobaltcore.engine.graph import Node
from cobaltcore.engine.verdict import Verdict
from cobaltcore.operators.controlplane import (
    catalogue,
    ceph,
    certificates,
    identity,
    infrastructure,
    keystone,
    projections,
    users,
)
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired, Kind

SERVICES = ("glance", "placement", "nova", "neutron", "cinder")
"""Services that have a user in Keystone and an entry in the catalogue."""


def _is_on(service: str, view: View) -> bool:
    return view.toggle(service).enabled


def _any_service(view: View) -> bool:
    return any(_is_on(each, view) for each in SERVICES)


def _is_ready(kind: Kind, name: str) -> Callable[[View], Verdict]:
    return lambda view: is_ready(view, kind, name)


def _user(service: str) -> Node[View]:
    return Node(
        f"{service}-credentials",
        "Catalog",
        partial(_user_objects, service),
        lambda view: users.ready(view, service),
        needs=("korc",),
        when=partial(_is_on, service),
    )


def _user_objects(service: str, view: View) -> Iterable[Desired]:
    return users.objects(view, service)


def _service(
    name: str,
    phase: str,
    kind: Kind,
    objects: Callable[[View], Iterable[Desired]],
    *needs: str,
) -> Node[View]:
    return Node(
        name,
        phase,
        objects,
        _is_ready(kind, name),
        needs=("mariadb", "memcached", "trust", "catalogue", f"{name}-credentials", *needs),
        begins=("mariadb", "memcached"),
        when=partial(_is_on, name),
    )


PARTS: tuple[Node[View], ...] = (
    Node(
        "mariadb",
        "Infrastructure",
        infrastructure.mariadb_objects,
        _is_ready(mariadb.MARIADB, infrastructure.MARIADB),
    ),
    Node(
        "rabbitmq",
        "Infrastructure",
        infrastructure.rabbitmq_objects,
        infrastructure.rabbitmq_ready,
    ),
    Node(
        "valkey",
        "Infrastructure",
        infrastructure.valkey_objects,
        _is_ready(valkey.VALKEY, infrastructure.VALKEY),
        when=lambda view: view.spec.infrastructure.valkey is not None,
    ),
    Node(
        "memcached",
        "Infrastructure",
        infrastructure.memcached_objects,
        infrastructure.memcached_ready,
    ),
    Node(
        "certificates",
        "Infrastructure",
        certificates.objects,
        certificates.ready,
        when=certificates.is_own,
    ),
    Node(
        "ovn",
        "Infrastructure",
        projections.ovn_objects,
        projections.ovn_ready,
        needs=("certificates",),
        when=lambda view: (
            _is_on("neutron", view) and view.spec.infrastructure.ovn.cluster_ref is None
        ),
    ),
    Node("ceph", "Infrastructure", ceph.objects, ceph.ready, when=ceph.is_used),
    Node(
        "keystone",
        "Identity",
        keystone.objects,
        _is_ready(keystone_kind.KIND, identity.KEYSTONE),
        needs=("mariadb", "memcached", "certificates"),
        when=lambda view: view.spec.services.keystone.enabled,
    ),
    Node(
        "trust",
        "Identity",
        certificates.trust_objects,
        certificates.trust_ready,
        needs=("keystone",),
        when=certificates.is_on,
    ),
    Node(
        "korc",
        "Catalog",
        identity.objects,
        identity.ready,
        needs=("keystone", "trust"),
        when=lambda view: view.spec.korc.enabled and _any_service(view),
    ),
    Node(
        "catalogue",
        "Catalog",
        catalogue.objects,
        catalogue.ready,
        needs=("korc",),
        when=lambda view: view.spec.korc.enabled and _any_service(view),
    ),
    *(_user(each) for each in SERVICES),
    _service("glance", "Core", glance.KIND, projections.glance_objects, "ceph"),
    _service("placement", "Core", placement.KIND, projections.placement_objects),
    _service(
        "neutron",
        "Compute",
        neutron.KIND,
        projections.neutron_objects,
        "rabbitmq",
        "ovn",
    ),
    _service(
        "nova",
        "Compute",
        nova.KIND,
        projections.nova_objects,
        "rabbitmq",
        "ceph",
        "placement",
        "glance",
    ),
    _service(
        "cinder", "Compute", cinder.KIND, projections.cinder_objects, "rabbitmq", "ceph", "glance"
    ),
)
