"""Images of this source tree, and their root file systems to run programs in."""

import json
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobaltcore.cli import main
from cobaltimages import release, sources, store
from cobaltimages.commands import images as command
from cobaltlab import errors
from tests.support.lab import eventually

TREE = sources.find()
RELEASE = "2025.2"
TIMEOUT_SECONDS = 3600.0
SERVICES = tuple(release.read(TREE, RELEASE).refs)

_ENTER = (
    'ip link set lo up && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" '
    '&& root="$1" && shift && exec chroot "$root" "$@"'
)


def default_store() -> store.Store:
    """The store that `cobalt images build` fills."""
    return store.Store(command.default_store())


def build(*arguments: str) -> None:
    """Run `cobalt images build`; the command prints its own errors."""
    assert main.main(["images", "build", "--yes", *arguments]) == 0


def everything(place: Path) -> store.Store:
    """The user's store with every image up to date, as it is now: parallel builds do not touch it."""
    theirs = default_store()
    eventually(lambda: not _is_busy(theirs), "no other build works", seconds=TIMEOUT_SECONDS)
    build("--quiet")
    with theirs.locked():
        for folder in ("blobs", "inventory", "keys", "records", "sbom"):
            shutil.copytree(theirs.directory / folder, place / folder, copy_function=os.link)
        for file in ("index.json", "oci-layout"):
            (place / file).write_bytes((theirs.directory / file).read_bytes())
    (place / "log").mkdir()
    (place / "caches").symlink_to(theirs.directory / "caches")
    return store.Store(place)


def _is_busy(kept: store.Store) -> bool:
    try:
        with kept.locked():
            return False
    except errors.LabError:
        return True


def listing(kept: store.Store) -> dict[str, Any]:
    """Output of `cobalt images list` as JSON."""
    done = subprocess.run(
        [
            TREE.root / ".venv/bin/cobalt",
            "images",
            "list",
            "-o",
            "json",
            "--store",
            kept.directory,
        ],
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def members(kept: store.Store, digest: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Every file of a layer with its content."""
    with tarfile.open(kept.blob(digest)) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            yield member, content.read() if content else b""


@dataclass(frozen=True)
class Root:
    """The unpacked root file system of an image."""

    path: Path

    @classmethod
    def unpack(cls, kept: store.Store, name: str, target: Path) -> "Root":
        """Lay the layers of an image over each other."""
        target.mkdir()
        for digest in kept.records(RELEASE)[name].layers:
            subprocess.run(["tar", "-xf", kept.blob(digest), "-C", target], check=True)
        (target / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
        return cls(target)

    def command(self, arguments: Sequence[str], network_of: int | None = None) -> list[str]:
        """A command line that runs a program in it, in a network of its own or a process's."""
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        if network_of is None:
            spaces += ["--net"]
        else:
            spaces = ["nsenter", f"--net=/proc/{network_of}/ns/net", *spaces]
        user = ["setpriv", "--reuid=42424", "--regid=42424", "--clear-groups"]
        return [*spaces, "sh", "-c", _ENTER, "sh", str(self.path), *user, *arguments]


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the background."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
