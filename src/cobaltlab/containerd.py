"""The containerd of a node, reached from the host: its socket, its images, its directories."""

import subprocess
from pathlib import Path

from cobaltlab import command, errors, nodeconfig, nodeprocess, ociarchive

_NAMESPACE = "k8s.io"
TIMEOUT_SECONDS = 600


def socket(node: nodeprocess.NodeProcess) -> Path:
    """The socket of a running node, as a path of the host."""
    return Path(f"/proc/{_pid(node)}/root{nodeconfig.CONTAINERD_SOCKET}")


def root(node: Path) -> Path:
    """The root directory of a node's containerd, as a path of the host."""
    return node / "root" / nodeconfig.CONTAINERD_ROOT.lstrip("/")


def content_store(root: Path) -> Path:
    """The content store below a root directory: an OCI layout.

    containerd does not download a blob that exists already.
    """
    return root / "io.containerd.content.v1.content"


def image_references(node: nodeprocess.NodeProcess) -> set[str]:
    """The images in a node's containerd."""
    return set(_ctr(node, "images", "list", "--quiet").split())


def import_image(node: nodeprocess.NodeProcess, archive: Path) -> bool:
    """Import an archive unless the node has its image; return whether it was imported."""
    if ociarchive.reference(archive) in image_references(node):
        return False
    _ctr(node, "images", "import", str(archive))
    return True


def ctr(socket: Path, *arguments: str, log: Path) -> str:
    """Run ctr against a socket; an error names the log of containerd."""
    words = " ".join(["ctr", *arguments])
    flags = [f"--address={socket}", f"--namespace={_NAMESPACE}"]
    try:
        done = command.run(["ctr", *flags, *arguments], timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise errors.LabError(
            f"`{words}` did not end within {TIMEOUT_SECONDS} s", hint=f"read {log}"
        ) from error
    if done.returncode:
        raise errors.LabError(f"`{words}` failed: {command.last_line(done)}", hint=f"read {log}")
    return done.stdout


def _ctr(node: nodeprocess.NodeProcess, *arguments: str) -> str:
    return ctr(socket(node), *arguments, log=node.logs / "containerd.log")


def _pid(node: nodeprocess.NodeProcess) -> int:
    pid = node.pid()
    if pid is None:
        raise errors.LabError(f'node "{node.name}" is not running', hint="start it: cobalt up")
    return pid
