"""A host on the external (provider) network of a lab's cloud, as a network namespace.

The namespace is attached to the external bridge, has the gateway address of the external network, and
is deleted with the `with` block. The host itself has no route to that network.
"""

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from cobaltlab import command, errors, kernel, network

ADDRESS = "172.24.4.1/24"
DEVICE = "out0"


class ExternalHost(AbstractContextManager["ExternalHost"]):
    """A host on the external network of a lab."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._holder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "sh", "-c", "echo ready; exec sleep infinity"],  # noqa: S607
            stdout=subprocess.PIPE,
            env=kernel.service_environment(),
        )
        assert self._holder.stdout is not None  # noqa: S101 it is a pipe
        self._holder.stdout.readline()
        try:
            veth = f"{network.external_bridge(self._index)}o"
            attach(self._index, self._holder.pid, veth=veth, address=ADDRESS)
        except network.IpError as error:
            self.close()
            raise errors.LabError(f"the external network is unreachable: {error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Delete the namespace and with it the veth pair."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.communicate()
            self._holder = None

    def pings(self, address: str, *, count: int = 1) -> bool:
        return self.run("ping", "-n", "-q", "-c", str(count), "-W", "2", address).returncode == 0

    def banner(self, address: str, port: int = 22) -> str:
        """The first line that a TCP server sends; empty if it does not answer."""
        script = f"exec 3<> /dev/tcp/{address}/{port} && head -n 1 <&3"
        return self.run("timeout", "5", "bash", "-c", script).stdout.strip()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the namespace."""
        assert self._holder is not None  # noqa: S101 used inside of the with block
        return _run(self._holder.pid, *arguments)


def attach(index: int, pid: int, *, veth: str, address: str) -> None:
    """Attach the network namespace of a process to the external network of a lab."""
    network.ip_batch([f"link del {veth}"], check=False)
    network.ip_batch(
        [
            f"link add {veth} type veth peer name {DEVICE} netns {pid}",
            f"link set {veth} master {network.external_bridge(index)} up",
        ]
    )
    for arguments in (
        ("ip", "addr", "add", address, "dev", DEVICE),
        ("ip", "link", "set", DEVICE, "up"),
        # The userspace datapath of OVS drops packets with offloaded checksums.
        ("ethtool", "-K", DEVICE, "tx", "off"),
    ):
        done = _run(pid, *arguments)
        if done.returncode:
            raise network.IpError(f"`{' '.join(arguments)}` failed: {command.last_line(done)}")


def _run(pid: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the network namespace of a process."""
    return command.run(["nsenter", f"--net={Path('/proc') / str(pid) / 'ns/net'}", *arguments])
