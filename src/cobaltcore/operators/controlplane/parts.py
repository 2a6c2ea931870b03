"""The parts of a control plane and what they need: the deployment graph as data."""

from cobaltcore.api import keystone as keystone_kind
from cobaltcore.api.foreign import mariadb, valkey
from cobaltcore.engine.graph import Node
from cobaltcore.operators.controlplane import infrastructure, keystone
from cobaltcore.operators.controlplane.view import View, is_ready

PARTS: tuple[Node[View], ...] = (
    Node(
        "mariadb",
        "Infrastructure",
        infrastructure.mariadb_objects,
        lambda view: is_ready(view, mariadb.MARIADB, infrastructure.MARIADB),
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
        lambda view: is_ready(view, valkey.VALKEY, infrastructure.VALKEY),
        when=lambda view: view.spec.infrastructure.valkey is not None,
    ),
    Node(
        "memcached",
        "Infrastructure",
        infrastructure.memcached_objects,
        infrastructure.memcached_ready,
    ),
    Node(
        "keystone",
        "Identity",
        keystone.objects,
        lambda view: is_ready(view, keystone_kind.KIND, keystone.NAME),
        needs=("mariadb", "memcached"),
        when=lambda view: view.spec.services.keystone.enabled,
    ),
)
