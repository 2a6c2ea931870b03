"""Where the daemons of Open vSwitch meet on a node."""

from pathlib import Path

RUN = Path("/run/openvswitch")
SOCKET = RUN / "db.sock"
LOG = ("-vconsole:info", "-vsyslog:off", "-vfile:off")


def remove_control_sockets(daemon: str) -> None:
    """Of a daemon that was killed: its process id may be another's now."""
    for each in RUN.glob(f"{daemon}.*.ctl"):
        each.unlink(missing_ok=True)
