"""Run the metadata agent of a node. Runs in Neutron's image.

Neutron's agent gives up when the switch of its node is not there, and leaves a process behind that
does nothing. This one waits for the switch first, and its process ends with the agent.
"""

import os
import socket
import sys
import time
import traceback
from pathlib import Path

AGENT = "neutron-ovn-metadata-agent"
NAMESPACES = Path("/run/netns")
POLL_SECONDS = 0.5


def forget_namespaces(directory: Path) -> None:
    """Namespaces end with the container that made them; their names would stay and lead nowhere."""
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


def run() -> int:
    """The agent itself, under its own name: by that it finds its configuration."""
    from neutron.cmd.agents import ovn_metadata  # of Neutron's image

    sys.argv = [AGENT]
    try:
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
    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
