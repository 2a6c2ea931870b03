"""The database of Open vSwitch on a node: created or converted if necessary, then served.

Its data is a directory of the node, so a server that starts again finds what was there.
"""

from collections.abc import Sequence
from pathlib import Path

from cobaltcore.agents import processes
from cobaltcore.agents.ovs import paths

DATABASE = Path("/etc/openvswitch/conf.db")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


def main(_: Sequence[str]) -> None:
    """Prepare the file, then become ovsdb-server."""
    if not DATABASE.exists():
        new = DATABASE.with_suffix(".new")
        new.unlink(missing_ok=True)
        processes.run("ovsdb-tool", "create", new, SCHEMA)
        new.rename(DATABASE)
    elif processes.output("ovsdb-tool", "needs-conversion", DATABASE, SCHEMA) == "yes":
        processes.run("ovsdb-tool", "convert", DATABASE, SCHEMA)
    paths.remove_control_sockets("ovsdb-server")
    processes.become(
        "ovsdb-server",
        DATABASE,
        f"--remote=punix:{paths.SOCKET}",
        f"--pidfile={paths.RUN}/ovsdb-server.pid",
        *paths.LOG,
    )
