"""The parts of an OVNCluster and what they need: as data, the order comes from it."""

from functools import partial

from cobaltcore.engine.graph import Node
from cobaltcore.operators.ovn import certificate, databases, hypervisors, northd
from cobaltcore.operators.ovn.view import View

_CERTIFICATE = "certificate"


def _database(database: databases.Database) -> Node[View]:
    return Node(
        database.component,
        "Databases",
        partial(databases.objects, database=database),
        partial(databases.ready, database=database),
        needs=(_CERTIFICATE,),
    )


PARTS: tuple[Node[View], ...] = (
    Node(
        _CERTIFICATE,
        "Certificate",
        certificate.objects,
        certificate.ready,
        enabled_if=lambda view: view.is_encrypted,
    ),
    _database(databases.NORTHBOUND),
    _database(databases.SOUTHBOUND),
    # Its pods wait for the databases themselves, so that all of them start at once.
    Node(northd.COMPONENT, "Databases", northd.objects, northd.ready, needs=(_CERTIFICATE,)),
    Node(
        hypervisors.OVS,
        "Hypervisors",
        hypervisors.ovs_objects,
        hypervisors.ovs_ready,
    ),
    Node(
        hypervisors.CONTROLLER,
        "Hypervisors",
        hypervisors.controller_objects,
        hypervisors.controller_ready,
        # ovn-controller exits if northd has not initialized the southbound database yet.
        needs=(_CERTIFICATE, northd.COMPONENT),
    ),
)

CONDITIONS: dict[str, tuple[str, ...]] = {
    "NorthboundReady": (_CERTIFICATE, databases.NORTHBOUND.component),
    "SouthboundReady": (_CERTIFICATE, databases.SOUTHBOUND.component, northd.COMPONENT),
    "ControllersReady": (_CERTIFICATE, hypervisors.OVS, hypervisors.CONTROLLER),
}
"""The parts of each condition."""
