"""Remove ports of metadata namespaces that have ended from OVS: SOCKET of its database.

ovs-vswitchd would listen to an interface that no longer exists; a userspace datapath does not notice
that another one was created under the same name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ovsdbapp.backend.ovs_idl import connection
from ovsdbapp.schema.open_vswitch import impl_idl

BRIDGE = "br-int"
TIMEOUT_SECONDS = 30


def main(arguments: Sequence[str]) -> None:
    """Remove all of them: none has been created yet in this container."""
    idl = connection.OvsdbIdl.from_server(f"unix:{arguments[0]}", "Open_vSwitch")
    database = impl_idl.OvsdbIdl(connection.Connection(idl, timeout=TIMEOUT_SECONDS))
    found = database.db_list("Interface", columns=["name", "external_ids"]).execute()
    for each in found:
        if belongs_to_namespace(each):
            database.del_port(each["name"], BRIDGE).execute()


def belongs_to_namespace(interface: Mapping[str, Any]) -> bool:
    """Whether the agent has plugged it; interfaces of servers carry the server's id."""
    ids = interface["external_ids"]
    return interface["name"].startswith("tap") and "iface-id" in ids and "vm-uuid" not in ids
