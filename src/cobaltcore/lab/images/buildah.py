"""buildah, kept to a scratch place: nothing of its storage is left after a build.

Images go straight from a build step into an OCI layout, uncompressed: what they are made of is
read once and hashed once. What others stand on is pulled back from there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cobaltcore.lab.images import scratch

# Programs that a build needs on this machine, and the Debian packages that bring them.
PROGRAMS: Mapping[str, str] = {
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ip": "iproute2",
}

EPOCH = "SOURCE_DATE_EPOCH"

_LATEST = "latest"
# A network of nothing but the loopback device.
_OFFLINE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An image to build: from what, with which values, into which layout."""

    containerfile: Path
    layout: Path
    contexts: Mapping[str, Path]
    arguments: Mapping[str, str]
    labels: Mapping[str, str]
    temporary: Path
    """What build steps see as /tmp: whether they use it must not show in the image."""
    may_pull: bool = False


class Buildah:
    """Runs buildah in a scratch place."""

    def __init__(self, place: scratch.Scratch) -> None:
        self._place = place
        root = place.place
        self._global = ("buildah", "--root", root / "storage", "--runroot", root / "run")

    def build(self, order: Order, log: IO[bytes]) -> int:
        """Build an image into an OCI layout; return the exit code."""
        contexts = [f"--build-context={name}={path}" for name, path in order.contexts.items()]
        arguments = [f"--build-arg={name}={value}" for name, value in order.arguments.items()]
        labels = [f"--label={name}={value}" for name, value in order.labels.items()]
        return self._run(
            [
                *("build", "--pull" if order.may_pull else "--pull-never", "--layers=false"),
                *("--identity-label=false", "--timestamp", order.arguments[EPOCH]),
                *("--file", order.containerfile, "--volume", f"{order.temporary}:/tmp"),
                *contexts,
                *arguments,
                *labels,
                *("--tag", f"oci:{order.layout}:{_LATEST}", order.containerfile.parent),
            ],
            log,
        )

    def pull(self, layout: Path, image_id: str, name: str, log: IO[bytes]) -> int:
        """Make an image of a layout known under a name, for those that stand on it."""
        code = self._run(["pull", "--quiet", f"oci:{layout}:{_LATEST}"], log)
        code = code or self._run(["tag", image_id, name], log)
        # Images name what they stand on; that must not be a path of this machine.
        return code or self._run(["rmi", f"localhost{layout}:{_LATEST}"], log)

    def run_in(
        self,
        image: str,
        command: Sequence[str],
        *,
        volumes: Mapping[Path, str],
        log: IO[bytes],
        environment: Mapping[str, str] | None = None,
        is_offline: bool = False,
    ) -> int:
        """Run a command in a throw-away container of an image; return its exit code."""
        container = f"{image.rsplit('/', 1)[-1]}-run"
        code = self._run(["from", "--pull-never", "--name", container, image], log)
        if code:
            return code
        mounts = [f"--volume={source}:{target}" for source, target in volumes.items()]
        settings = [f"--env={name}={value}" for name, value in (environment or {}).items()]
        inside: list[str | Path] = [
            *self._global,
            "run",
            *mounts,
            *settings,
            container,
            "--",
            *command,
        ]
        code = self._place.run([*(_OFFLINE if is_offline else ()), *inside], log)
        return code or self._run(["rm", container], log)

    def forget(self, name: str, log: IO[bytes]) -> None:
        """Free the space of an image that nothing here needs any more."""
        self._run(["rmi", name], log)

    def _run(self, arguments: Sequence[str | Path], log: IO[bytes]) -> int:
        return self._place.run([*self._global, *arguments], log)


def environment(place: Path, *, has_overlay: bool) -> dict[str, str]:
    """What buildah needs to know about a scratch place."""
    return {
        "BUILDAH_ISOLATION": "chroot",
        "STORAGE_DRIVER": "overlay" if has_overlay else "vfs",
        "TMPDIR": str(place / "tmp"),
    }
