"""Runs in the containers of Open vSwitch: prepares what each program needs, then becomes it.

Data and sockets are directories of the node, so a program that starts again finds what was there.
Only the standard library and Open vSwitch's own programs are at hand.
"""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

RUN = Path("/run/openvswitch")
DATABASE = Path("/etc/openvswitch/conf.db")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
SOCKET = RUN / "db.sock"
LOG = ("-vconsole:info", "-vsyslog:off", "-vfile:off")


def database() -> list[str]:
    """The database of the switch; a new release may bring another schema."""
    if not DATABASE.exists():
        new = DATABASE.with_suffix(".new")
        new.unlink(missing_ok=True)
        _run("ovsdb-tool", "create", str(new), SCHEMA)
        new.rename(DATABASE)
    elif _says("ovsdb-tool", "needs-conversion", str(DATABASE), SCHEMA) == "yes":
        _run("ovsdb-tool", "convert", str(DATABASE), SCHEMA)
    _clear("ovsdb-server")
    return [
        "ovsdb-server",
        str(DATABASE),
        f"--remote=punix:{SOCKET}",
        f"--pidfile={RUN}/ovsdb-server.pid",
        *LOG,
    ]


def switch() -> list[str]:
    """The switch; the kernel's module is asked for, and not missed if it does not exist."""
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "--quiet", "openvswitch"], check=False)  # noqa: S607 the image's own
    while subprocess.run(  # noqa: S603 our words
        ["ovs-vsctl", "--timeout=5", f"--db=unix:{SOCKET}", "--no-wait", "init"],  # noqa: S607 as above
        check=False,
        capture_output=True,
    ).returncode:
        select.select([], [], [], 0.2)
    _clear("ovs-vswitchd")
    return ["ovs-vswitchd", f"unix:{SOCKET}", f"--pidfile={RUN}/ovs-vswitchd.pid", *LOG]


def _clear(program: str) -> None:
    """Remove control sockets of a program that was killed."""
    for each in RUN.glob(f"{program}.*.ctl"):
        each.unlink(missing_ok=True)


def _says(*command: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 our words
    return done.stdout.strip()


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False)  # noqa: S603 our words
    if done.returncode:
        sys.exit(f"{command[0]} failed with {done.returncode}; its messages are above")


def main() -> None:
    """Become the program whose name is given, so that signals reach it."""
    command = {"ovsdb-server": database, "ovs-vswitchd": switch}[sys.argv[1]]()
    os.execvp(command[0], command)  # noqa: S606 no shell is wanted


if __name__ == "__main__":
    main()
