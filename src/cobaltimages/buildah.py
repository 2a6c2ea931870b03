"""buildah, with its storage in a scratch directory that is removed after a build.

Images are written from a build step directly to an OCI layout, uncompressed, so that every file is
read and hashed once. Base images are pulled from that layout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cobaltimages import scratch

# Programs that a build needs on this machine, and their Debian packages.
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
class BuildSpec:
    """An image to build: contexts, arguments, labels, and the layout that it is written to."""

    containerfile: Path
    layout: Path
    contexts: Mapping[str, Path]
    arguments: Mapping[str, str]
    labels: Mapping[str, str]
    temporary: Path
    """Mounted as /tmp in build steps, so that files there are not part of the image."""
    may_pull: bool = False


class Buildah:
    """Runs buildah in a scratch directory."""

    def __init__(self, place: scratch.Scratch) -> None:
        self._place = place
        root = place.place
        self._global = ("buildah", "--root", root / "storage", "--runroot", root / "run")

    def build(self, spec: BuildSpec, log: IO[bytes]) -> int:
        """Build an image into an OCI layout; return the exit code."""
        contexts = [f"--build-context={name}={path}" for name, path in spec.contexts.items()]
        arguments = [f"--build-arg={name}={value}" for name, value in spec.arguments.items()]
        labels = [f"--label={name}={value}" for name, value in spec.labels.items()]
        return self._run(
            [
                *("build", "--pull" if spec.may_pull else "--pull-never", "--layers=false"),
                *("--identity-label=false", "--timestamp", spec.arguments[EPOCH]),
                *("--file", spec.containerfile, "--volume", f"{spec.temporary}:/tmp"),
                *contexts,
                *arguments,
                *labels,
                *("--tag", f"oci:{spec.layout}:{_LATEST}", spec.containerfile.parent),
            ],
            log,
        )

    def pull(self, layout: Path, image_id: str, name: str, log: IO[bytes]) -> int:
        """Pull a base image from a layout and tag it."""
        code = self._run(["pull", "--quiet", f"oci:{layout}:{_LATEST}"], log)
        code = code or self._run(["tag", image_id, name], log)
        # Images record the name of their base image, which must not be a path of this machine.
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
        """Remove an image from the storage of buildah."""
        self._run(["rmi", name], log)

    def _run(self, arguments: Sequence[str | Path], log: IO[bytes]) -> int:
        return self._place.run([*self._global, *arguments], log)


def environment(place: Path, *, has_overlay: bool) -> dict[str, str]:
    """Environment variables of buildah in a scratch directory."""
    return {
        "BUILDAH_ISOLATION": "chroot",
        "STORAGE_DRIVER": "overlay" if has_overlay else "vfs",
        "TMPDIR": str(place / "tmp"),
    }
