"""ovs-vswitchd of a node, started as soon as its database answers."""

import shutil
from collections.abc import Sequence

from cobaltcore.agents import processes, waiting
from cobaltcore.agents.ovs import paths

INTERVAL_SECONDS = 0.2
DATABASE = f"unix:{paths.SOCKET}"


def main(_: Sequence[str]) -> None:
    """The kernel's module is loaded where there is one; without it the datapath is userspace."""
    if shutil.which("modprobe"):
        processes.attempt("modprobe", "--quiet", "openvswitch")
    waiting.wait_until(_database_is_up, interval=INTERVAL_SECONDS)
    paths.remove_control_sockets("ovs-vswitchd")
    processes.become(
        "ovs-vswitchd", DATABASE, f"--pidfile={paths.RUN}/ovs-vswitchd.pid", *paths.LOG
    )


def _database_is_up() -> bool:
    done = processes.attempt("ovs-vsctl", "--timeout=5", f"--db={DATABASE}", "--no-wait", "init")
    return done.returncode == 0
