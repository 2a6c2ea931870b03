"""Run the metadata agent of a node. Runs in Neutron's image.

Neutron's agent gives up when the switch of its node is not there, and leaves a process behind that
does nothing. This one waits for the switch first, and its process ends with the agent. It also
clears away what the agent's last life left: namespaces end with the container that made them.
Helpers with fewer rights are forks of it instead of programs that each load Neutron again.
"""

import os
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

AGENT = "neutron-ovn-metadata-agent"
NAMESPACES = Path("/run/netns")
BRIDGE = "br-int"
UNPLUG = "unplug"
HELPERS = ("default", "namespace_cmd", "link_cmd")
"""The sets of rights that the agent uses."""
POLL_SECONDS = 0.5
WAIT_SECONDS = 30


def forget_namespaces(directory: Path) -> None:
    """Their names would stay and lead nowhere."""
    for each in directory.iterdir():
        each.unlink()


def answers(path: str) -> bool:
    """Whether somebody listens at a socket."""
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.connect(path)
        except OSError:
            return False
    return True


def unplug_namespaces(switch: str) -> None:
    """Take their ports out of the switch: it would listen to an interface that is gone.

    One in user space does not notice that another one has come under the same name.
    """
    from ovsdbapp.backend.ovs_idl import connection  # of Neutron's image
    from ovsdbapp.schema.open_vswitch import impl_idl  # of Neutron's image

    idl = connection.OvsdbIdl.from_server(f"unix:{switch}", "Open_vSwitch")
    database = impl_idl.OvsdbIdl(connection.Connection(idl, timeout=WAIT_SECONDS))
    found = database.db_list("Interface", columns=["name", "external_ids"]).execute()
    for each in found:
        if leads_to_namespace(each):
            database.del_port(each["name"], BRIDGE).execute()


def leads_to_namespace(interface: Mapping[str, Any]) -> bool:
    """Whether the agent has plugged it; interfaces of servers carry the server's name."""
    known = interface["external_ids"]
    return interface["name"].startswith("tap") and "iface-id" in known and "vm-uuid" not in known


def start_helpers() -> None:
    """Fork them before there are threads."""
    from neutron import privileged  # of Neutron's image
    from oslo_privsep import priv_context  # of Neutron's image

    for each in HELPERS:
        getattr(privileged, each).start(priv_context.Method.FORK)


def run() -> int:
    """The agent itself, under its own name: by that it finds its configuration."""
    from neutron.cmd.agents import ovn_metadata  # of Neutron's image

    sys.argv = [AGENT]
    try:
        start_helpers()
        ovn_metadata.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 whatever it is, the process must not stay
        traceback.print_exc()
        return 1
    return 0


def main(switch: str) -> None:
    """Wait for the switch, then serve until told to stop."""
    forget_namespaces(NAMESPACES)
    while not answers(switch):
        time.sleep(POLL_SECONDS)  # noqa: TID251 no clock of ours in Neutron's image
    # In a process of its own: the agent replaces parts of Python that the connection has in use.
    subprocess.run([sys.executable, __file__, switch, UNPLUG], check=True)  # noqa: S603 ourselves
    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    (unplug_namespaces if UNPLUG in sys.argv else main)(sys.argv[1])
