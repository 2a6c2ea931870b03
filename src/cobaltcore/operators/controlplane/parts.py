"""The parts of a control plane and what they need: the deployment graph as data."""

from collections.abc import Callable

from cobaltcore.api.foreign import rabbitmq, valkey
from cobaltcore.engine.desired import names
from cobaltcore.engine.graph import Node
from cobaltcore.engine.verdict import Verdict
from cobaltcore.operators.controlplane import (
    available,
    catalogue,
    ceph,
    certificates,
    identity,
    infrastructure,
    ovn,
    services,
)
from cobaltcore.operators.controlplane.view import View, has_pods, is_ready, reports
from cobaltcore.runtime.meta import Kind


def _is_ready(kind: Kind, name: str) -> Callable[[View], Verdict]:
    return lambda view: is_ready(view, kind, name)


PARTS: tuple[Node[View], ...] = (
    Node(
        "certificates",
        "Infrastructure",
        certificates.objects,
        certificates.ready,
        enabled_if=certificates.is_on,
    ),
    Node(
        "mariadb",
        "Infrastructure",
        infrastructure.mariadb_objects,
        infrastructure.mariadb_ready,
        needs=("certificates",),
        serves=lambda view: has_pods(view, names.MARIADB),
    ),
    Node(
        "rabbitmq",
        "Infrastructure",
        infrastructure.rabbitmq_objects,
        infrastructure.rabbitmq_ready,
        needs=("certificates",),
        serves=lambda view: reports(view, rabbitmq.CLUSTER, names.RABBITMQ, "ClusterAvailable"),
    ),
    Node(
        "valkey",
        "Infrastructure",
        infrastructure.valkey_objects,
        _is_ready(valkey.VALKEY, names.VALKEY),
        needs=("certificates",),
        enabled_if=lambda view: view.spec.infrastructure.valkey is not None,
    ),
    Node(
        "memcached",
        "Infrastructure",
        infrastructure.memcached_objects,
        infrastructure.memcached_ready,
        serves=lambda view: has_pods(view, names.MEMCACHED),
    ),
    Node(
        "ovn",
        "Infrastructure",
        ovn.objects,
        ovn.ready,
        needs=("certificates",),
        enabled_if=lambda view: (
            view.toggle("neutron").enabled and view.spec.infrastructure.ovn.cluster_ref is None
        ),
        serves=ovn.serves,
    ),
    Node("ceph", "Infrastructure", ceph.objects, ceph.ready, enabled_if=ceph.is_used),
    Node(
        "trust",
        "Identity",
        certificates.trust_objects,
        certificates.trust_ready,
        needs=("keystone",),
        enabled_if=certificates.is_on,
    ),
    Node(
        "korc",
        "Catalog",
        identity.objects,
        identity.ready,
        needs=("keystone", "trust"),
        enabled_if=lambda view: view.spec.korc.enabled and available.any_on(view),
    ),
    Node(
        "catalogue",
        "Catalog",
        catalogue.objects,
        catalogue.ready,
        needs=("korc",),
        enabled_if=lambda view: view.spec.korc.enabled and available.any_on(view),
    ),
    *services.nodes(),
)
