"""Images into a node's container runtime, through the node's own files as the host sees them."""

import subprocess
from pathlib import Path

from cobaltcore.lab import errors, machine, nodeconfig, ociarchive

_NAMESPACE = "k8s.io"
TIMEOUT_SECONDS = 600


def socket(node: machine.Machine) -> Path:
    """Where the runtime of a running node listens, as the host sees it."""
    return Path(f"/proc/{_pid(node)}/root{nodeconfig.CONTAINERD_SOCKET}")


def root(node: Path) -> Path:
    """Where the runtime of the node in a directory keeps everything, by a path of the host."""
    return node / "root" / nodeconfig.CONTAINERD_ROOT.lstrip("/")


def content(root: Path) -> Path:
    """Where a runtime keeps blobs: an OCI layout.

    The runtime takes a blob that is there already as downloaded.
    """
    return root / "io.containerd.content.v1.content"


def references(node: machine.Machine) -> set[str]:
    """The images that a node has."""
    return set(_ctr(node, "images", "list", "--quiet").split())


def load(node: machine.Machine, archive: Path) -> bool:
    """Import an archive unless the node has its image; tell whether it was imported."""
    if ociarchive.reference(archive) in references(node):
        return False
    _ctr(node, "images", "import", str(archive))
    return True


def ctr(socket: Path, *arguments: str, log: Path) -> str:
    """Ask a container runtime; what it says in its log is named if it fails."""
    shown = " ".join(["ctr", *arguments])
    command = ["ctr", f"--address={socket}", f"--namespace={_NAMESPACE}", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 arguments are ours
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise errors.LabError(
            f"{shown}: no answer within {TIMEOUT_SECONDS} s", hint=f"read {log}"
        ) from error
    if done.returncode:
        raise errors.LabError(f"{shown} failed: {done.stderr.strip()}", hint=f"read {log}")
    return done.stdout


def _ctr(node: machine.Machine, *arguments: str) -> str:
    return ctr(socket(node), *arguments, log=node.logs / "containerd.log")


def _pid(node: machine.Machine) -> int:
    pid = node.pid()
    if pid is None:
        raise errors.LabError(f"node {node.name} does not run", hint="start it with: cobalt up")
    return pid
