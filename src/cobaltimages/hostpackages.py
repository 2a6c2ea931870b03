"""Debian packages that builds and labs need on this machine."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence

from cobaltimages import errors

TAIL_LINES = 8


def install(names: Sequence[str], *, report: Callable[[str], None]) -> None:
    """Install Debian packages, with fresh package lists if the present ones do not know them."""
    if not shutil.which("apt-get"):
        raise errors.HostError(
            f"missing packages: {' '.join(names)}; cobalt can install them only with apt-get",
            hint="install the programs of these Debian packages by hand",
        )
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *names]
    report(f"installing {' '.join(names)}")
    if _apt(command) is None:
        return
    report("fetching package lists")
    failure = _apt(["apt-get", "update"])
    if failure is None:
        report(f"installing {' '.join(names)}")
        failure = _apt(command)
    if failure is not None:
        raise errors.HostError(
            f"packages could not be installed: {' '.join(names)}\n{failure}",
            hint="let this machine reach a Debian mirror (see /etc/apt/sources.list*), or install "
            "the packages by hand",
        )


def _apt(command: Sequence[str]) -> str | None:
    """Run apt-get; return the end of its output if it failed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(  # noqa: S603 no shell, names are ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    if not done.returncode:
        return None
    return "\n".join(f"  {line}" for line in done.stdout.splitlines()[-TAIL_LINES:])
