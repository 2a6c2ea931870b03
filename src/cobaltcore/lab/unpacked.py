"""Images that are unpacked once for all nodes of this machine.

A container runtime that runs for this alone unpacks the images of a layout beside it. A node that
has never run begins with a copy of what that runtime knows and with links to what it has, so it
unpacks nothing but what is newer than itself.

Nodes link to what is here, so it must not go before them. Images are named by digest, and a digest
keeps its name when a tag moves on; what is out of date goes when no such node is left.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec

from cobaltcore.lab import containers, errors, nodeconfig, process, registry
from cobaltcore.runtime import files

START_LIMIT = timedelta(seconds=30)
PULLS_AT_ONCE = 2

_IMAGES = "io.containerd.metadata.v1.bolt"
_SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs"
_SETTINGS = """\
version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt", \
"io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", \
"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
"""

Names = Mapping[str, Sequence[str]]
"""Images by their name with a digest, each with its tags."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A directory of unpacked images."""

    directory: Path

    @property
    def content(self) -> Path:
        """Where blobs are: a layout, whose blobs need not be copied if they are linked to here."""
        return containers.content(self._root)

    def update(self, layout: Path, wanted: Names, *, report: Callable[[str], None]) -> None:
        """Unpack images of a layout; do nothing if they are."""
        with self._locked():
            # Fewer stages need fewer images: what others need stays.
            if wanted.items() <= self._known().items():
                return
            self._known_file.unlink(missing_ok=True)
            with _running(self._root, self.directory / "containerd.log", layout) as runtime:
                runtime.have(wanted, report)
                if not self._users():
                    runtime.forget_all_but(wanted)
            files.replace(self._known_file, msgspec.json.encode(wanted), mode=0o644)

    def begin(self, root: Path) -> None:
        """Let the container runtime of a node begin with these images, if it has never run."""
        with self._locked():
            if root.exists() or not self._known_file.exists():
                return
            fresh = root.with_name(f"{root.name}.new")
            shutil.rmtree(fresh, ignore_errors=True)
            _link_all(self.content / "blobs/sha256", containers.content(fresh) / "blobs/sha256")
            _link_all(self._root / _SNAPSHOTS / "snapshots", fresh / _SNAPSHOTS / "snapshots")
            for database in (f"{_IMAGES}/meta.db", f"{_SNAPSHOTS}/metadata.db"):
                (fresh / database).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._root / database, fresh / database)
            self._note_user(root)
            fresh.rename(root)

    @property
    def _root(self) -> Path:
        return self.directory / "root"

    @property
    def _known_file(self) -> Path:
        return self.directory / "known.json"

    def _known(self) -> Names:
        try:
            return msgspec.json.decode(self._known_file.read_bytes(), type=dict[str, list[str]])
        except FileNotFoundError:
            return {}

    def _note_user(self, root: Path) -> None:
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        (self.directory / "users").mkdir(exist_ok=True)
        files.replace(self.directory / "users" / name, str(root).encode(), mode=0o644)

    def _users(self) -> list[Path]:
        """The nodes that began here and still exist."""
        found = []
        for note in (self.directory / "users").glob("*"):
            user = Path(note.read_text())
            if user.exists():
                found.append(user)
            else:
                note.unlink()
        return found

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for whoever works here; the lock goes with the process."""
        self.directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


@contextmanager
def _running(root: Path, log: Path, layout: Path) -> Iterator["_Runtime"]:
    """A container runtime on a directory, with a registry to pull from, as long as it is needed."""
    program = shutil.which("containerd")
    if program is None:
        raise errors.LabError("containerd cannot be found", hint="apt-get install containerd")
    root.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cobalt-unpack-")))
        images = stack.enter_context(registry.server(("127.0.0.1", 0), registry.Layout(layout)))
        threading.Thread(target=images.serve_forever, daemon=True).start()
        stack.callback(images.shutdown)
        runtime = _Runtime(place, log)
        runtime.configure(nodeconfig.registry(*images.server_address))
        child = process.Child("containerd", [program, *runtime.flags(root)], log)
        child.start()
        stack.callback(child.stop)
        child.wait_until(runtime.socket.exists, within=START_LIMIT)
        yield runtime


@dataclass(frozen=True, slots=True)
class _Runtime:
    """Speaks to the container runtime whose socket and settings are in a place."""

    place: Path
    log: Path

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.place / "containerd.sock"

    def configure(self, hosts: str) -> None:
        """Write its settings, and where it pulls from."""
        (self.place / "config.toml").write_text(_SETTINGS)
        target = self._registries / "_default" / "hosts.toml"
        target.parent.mkdir(parents=True)
        target.write_text(hosts)

    def flags(self, root: Path) -> list[str]:
        """How it is started to keep everything in `root`."""
        options = {
            "config": self.place / "config.toml",
            "root": root,
            "state": self.place / "state",
            "address": self.socket,
        }
        return [f"--{name}={value}" for name, value in options.items()]

    def have(self, wanted: Names, report: Callable[[str], None]) -> None:
        """Pull and unpack what is missing, and let all tags name what they should."""
        known = self._names()
        missing = [name for name in wanted if name not in known]
        # Images share their lower layers: one alone first, so that these are unpacked once.
        left = len(missing)
        for part in (missing[:1], missing[1:]):
            with ThreadPoolExecutor(PULLS_AT_ONCE) as pool:
                for _ in pool.map(self._pull, part):
                    left -= 1
                    report(f"unpacking images, {left} to go")
        for name, tags in wanted.items():
            if tags:
                self._ctr("images", "tag", "--force", name, *tags)

    def forget_all_but(self, wanted: Names) -> None:
        """Remove every other name, and with the last one of an image its files."""
        kept = {*wanted, *(tag for tags in wanted.values() for tag in tags)}
        if others := sorted(self._names() - kept):
            self._ctr("images", "remove", "--sync", *others)

    @property
    def _registries(self) -> Path:
        return self.place / "registries"

    def _pull(self, name: str) -> None:
        self._ctr("images", "pull", "--hosts-dir", str(self._registries), name)

    def _names(self) -> set[str]:
        return set(self._ctr("images", "list", "--quiet").split())

    def _ctr(self, *arguments: str) -> str:
        return containers.ctr(self.socket, *arguments, log=self.log)


def _link_all(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for each in source.iterdir():
        (target / each.name).symlink_to(each)
