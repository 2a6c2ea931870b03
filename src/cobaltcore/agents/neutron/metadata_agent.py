"""Run neutron-ovn-metadata-agent of a node: SOCKET of the Open vSwitch database.

Neutron's agent gives up when OVS of its node is not up, and leaves a process behind that
does nothing. This one waits for OVS first, and its process ends with the agent. It also
removes what the agent's last container left: namespaces end with the container that created them.
Privileged helpers are forks of it instead of programs that each load Neutron again.
"""

import os
import socket
import socketserver
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cobaltcore.agents import processes, readiness, waiting

AGENT = "neutron-ovn-metadata-agent"
NAME = "neutron-metadata-agent"
NAMESPACES = Path("/run/netns")
HELPERS = ("default", "namespace_cmd", "link_cmd")
"""The privilege contexts that the agent uses."""
INTERVAL_SECONDS = 0.5
VALID_SECONDS = 30.0


def main(arguments: Sequence[str]) -> None:
    """Wait for OVS, then serve until the pod is deleted."""
    switch = arguments[0]
    readiness.withdraw(NAME)
    remove_namespaces(NAMESPACES)
    waiting.wait_until(lambda: accepts_connections(switch), interval=INTERVAL_SECONDS)
    # In a process of its own: the agent replaces parts of Python that the connection has in use.
    processes.run("cobalt-agent", "neutron", "stale-ports", switch)
    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def readiness_problem(_: Sequence[str]) -> str | None:
    """Ready while the agent takes requests, which it does once it is registered in both databases."""
    return readiness.problem(NAME)


def remove_namespaces(directory: Path) -> None:
    """Remove names whose namespaces have ended."""
    for each in directory.iterdir():
        each.unlink()


def accepts_connections(path: str) -> bool:
    """Whether a server listens at a socket."""
    with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
        client.connect(path)
        return True
    return False


def start_helpers() -> None:
    """Fork them before there are threads."""
    from neutron import privileged
    from oslo_privsep import priv_context

    for each in HELPERS:
        getattr(privileged, each).start(priv_context.Method.FORK)


def report_readiness() -> None:
    """Have the agent's server do it: it calls this method whenever it has polled its socket."""

    def service_actions(_: socketserver.BaseServer) -> None:
        readiness.renew(NAME, valid_seconds=VALID_SECONDS)

    socketserver.ThreadingUnixStreamServer.service_actions = service_actions  # type: ignore[method-assign, assignment]


def run() -> int:
    """Run the agent under its own name: by that it finds its configuration."""
    from neutron.cmd.agents import ovn_metadata

    sys.argv = [AGENT]
    try:
        start_helpers()
        report_readiness()
        ovn_metadata.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 whatever it is, the process must not stay
        traceback.print_exc()
        return 1
    return 0
