"""The world outside of a cloud, as a network namespace beside the lab: for a look at its servers.

The namespace is plugged into the bridge that the nodes' external cables end in, has the address of
the external network's gateway, and goes away with the `with` block. The host itself has no route there.
"""

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from cobaltcore.lab import errors, kernel, links

ADDRESS = "172.24.4.1/24"
DEVICE = "out0"


class Outside(AbstractContextManager["Outside"]):
    """Someone on the external network of a lab."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._cable = f"{links.outside(index)}o"
        self._holder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "sh", "-c", "echo ready; exec sleep infinity"],  # noqa: S607
            stdout=subprocess.PIPE,
            env=kernel.environment(),
        )
        assert self._holder.stdout is not None  # noqa: S101 it is a pipe
        self._holder.stdout.readline()
        try:
            self._plug_in(self._holder.pid)
        except links.IpError as error:
            self.close()
            raise errors.LabError(f"no way to the external network: {error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the namespace down; its cable goes with it."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.communicate()
            self._holder = None

    def pings(self, address: str, *, count: int = 1) -> bool:
        """Whether an address answers."""
        return self.run("ping", "-n", "-q", "-c", str(count), "-W", "2", address).returncode == 0

    def banner(self, address: str, port: int = 22) -> str:
        """The first line that a TCP port says; empty if nobody does."""
        script = f"exec 3<> /dev/tcp/{address}/{port} && head -n 1 <&3"
        return self.run("timeout", "5", "bash", "-c", script).stdout.strip()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command out there."""
        assert self._holder is not None  # noqa: S101 used inside of the with block
        namespace = Path("/proc") / str(self._holder.pid) / "ns/net"
        return subprocess.run(  # noqa: S603 arguments are ours
            ["nsenter", f"--net={namespace}", *command],  # noqa: S607 the host's own
            capture_output=True,
            text=True,
            check=False,
            env=kernel.environment(),
        )

    def _plug_in(self, pid: int) -> None:
        links.run([f"link del {self._cable}"], check=False)
        links.run(
            [
                f"link add {self._cable} type veth peer name {DEVICE} netns {pid}",
                f"link set {self._cable} master {links.outside(self._index)} up",
            ]
        )
        for command in (
            ("ip", "addr", "add", ADDRESS, "dev", DEVICE),
            ("ip", "link", "set", DEVICE, "up"),
            # The user-space switch drops what has no checksum yet.
            ("ethtool", "-K", DEVICE, "tx", "off"),
        ):
            done = self.run(*command)
            if done.returncode:
                raise links.IpError(f"{' '.join(command)}: {done.stderr.strip()}")
