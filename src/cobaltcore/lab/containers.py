"""Images into a node's container runtime, through the node's own files as the host sees them."""

import subprocess
from pathlib import Path

from cobaltcore.lab import errors, machine, nodeconfig, ociarchive

_NAMESPACE = "k8s.io"
TIMEOUT_SECONDS = 600


def socket(node: machine.Machine) -> Path:
    """Where the runtime of a running node listens, as the host sees it."""
    return Path(f"/proc/{_pid(node)}/root{nodeconfig.CONTAINERD_SOCKET}")


def content(node: machine.Machine) -> Path:
    """Where the runtime of a node keeps blobs, by a path of the host: an OCI layout.

    The runtime takes a blob that is there already as downloaded.
    """
    root = node.path.parent / "root" / nodeconfig.CONTAINERD_ROOT.lstrip("/")
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


def _ctr(node: machine.Machine, *arguments: str) -> str:
    command = ["ctr", f"--address={socket(node)}", f"--namespace={_NAMESPACE}", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 arguments are ours
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise errors.LabError(
            f"the container runtime of {node.name} did not answer within {TIMEOUT_SECONDS} s"
        ) from error
    if done.returncode:
        shown = " ".join(["ctr", *arguments])
        raise errors.LabError(
            f"{shown} failed on node {node.name}: {done.stderr.strip()}",
            hint=f"read {node.logs / 'containerd.log'}",
        )
    return done.stdout


def _pid(node: machine.Machine) -> int:
    pid = node.pid()
    if pid is None:
        raise errors.LabError(f"node {node.name} does not run", hint="start it with: cobalt up")
    return pid
