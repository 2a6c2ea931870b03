"""Images that are unpacked once for all nodes of this machine.

A temporary containerd unpacks the images of an OCI layout into a shared directory. The containerd of
a new node starts with a copy of its metadata and symbolic links to its blobs and snapshots, so it
only unpacks images that are newer than the node.

Nodes link to the shared directory, so it must outlive them. Images are named by digest, which stays
valid when a tag moves; outdated images are removed when no node links to the directory.
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

from cobaltcore.runtime import files
from cobaltlab import containerd, errors, nodeconfig, process, registry

START_TIMEOUT = timedelta(seconds=30)
PARALLEL_PULLS = 2

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
class ImageCache:
    """The shared directory of unpacked images."""

    directory: Path

    @property
    def content(self) -> Path:
        """The content store: an OCI layout."""
        return containerd.content_store(self._root)

    def update(self, layout: Path, wanted: Names, *, report: Callable[[str], None]) -> None:
        """Unpack the missing images of a layout."""
        with self._locked():
            # A run with fewer steps needs fewer images; images of other steps are kept.
            if wanted.items() <= self._known().items():
                return
            self._known_file.unlink(missing_ok=True)
            with _running(self._root, self.directory / "containerd.log", layout) as runtime:
                runtime.pull(wanted, report)
                if not self._users():
                    runtime.remove_all_but(wanted)
            files.replace(self._known_file, msgspec.json.encode(wanted), mode=0o644)

    def seed(self, root: Path) -> None:
        """Create the root directory of a node's containerd with these images, if it does not exist."""
        with self._locked():
            if root.exists() or not self._known_file.exists():
                return
            fresh = root.with_name(f"{root.name}.new")
            shutil.rmtree(fresh, ignore_errors=True)
            _link_all(
                self.content / "blobs/sha256", containerd.content_store(fresh) / "blobs/sha256"
            )
            _link_all(self._root / _SNAPSHOTS / "snapshots", fresh / _SNAPSHOTS / "snapshots")
            for database in (f"{_IMAGES}/meta.db", f"{_SNAPSHOTS}/metadata.db"):
                (fresh / database).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._root / database, fresh / database)
            self._register_user(root)
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

    def _register_user(self, root: Path) -> None:
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        (self.directory / "users").mkdir(exist_ok=True)
        files.replace(self.directory / "users" / name, str(root).encode(), mode=0o644)

    def _users(self) -> list[Path]:
        """The containerd roots that link to this directory and still exist."""
        found = []
        for entry in (self.directory / "users").glob("*"):
            user = Path(entry.read_text())
            if user.exists():
                found.append(user)
            else:
                entry.unlink()
        return found

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for the lock; the kernel releases it when the process ends."""
        self.directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


@contextmanager
def _running(root: Path, log: Path, layout: Path) -> Iterator["_Containerd"]:
    """A temporary containerd with a registry to pull from."""
    program = shutil.which("containerd")
    if program is None:
        raise errors.LabError("containerd is not installed", hint="apt-get install containerd")
    root.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cobalt-unpack-")))
        images = stack.enter_context(registry.server(("127.0.0.1", 0), registry.Layout(layout)))
        threading.Thread(target=images.serve_forever, daemon=True).start()
        stack.callback(images.shutdown)
        runtime = _Containerd(directory, log)
        runtime.configure(nodeconfig.registry(*images.server_address))
        child = process.Child("containerd", [program, *runtime.flags(root)], log)
        child.start()
        stack.callback(child.stop)
        child.wait_until(runtime.socket.exists, within=START_TIMEOUT)
        yield runtime


@dataclass(frozen=True, slots=True)
class _Containerd:
    """A containerd whose socket and configuration are in a temporary directory."""

    directory: Path
    log: Path

    @property
    def socket(self) -> Path:
        return self.directory / "containerd.sock"

    def configure(self, hosts: str) -> None:
        (self.directory / "config.toml").write_text(_SETTINGS)
        target = self._registries / "_default" / "hosts.toml"
        target.parent.mkdir(parents=True)
        target.write_text(hosts)

    def flags(self, root: Path) -> list[str]:
        """Command-line flags with `root` as the data directory."""
        options = {
            "config": self.directory / "config.toml",
            "root": root,
            "state": self.directory / "state",
            "address": self.socket,
        }
        return [f"--{name}={value}" for name, value in options.items()]

    def pull(self, wanted: Names, report: Callable[[str], None]) -> None:
        """Pull and unpack missing images, and move all tags."""
        known = self._names()
        missing = [name for name in wanted if name not in known]
        # Images share lower layers: the first is pulled alone, so that these are unpacked once.
        left = len(missing)
        for part in (missing[:1], missing[1:]):
            with ThreadPoolExecutor(PARALLEL_PULLS) as pool:
                for _ in pool.map(self._pull, part):
                    left -= 1
                    report(f"unpacking images, {left} left")
        for name, tags in wanted.items():
            if tags:
                self._ctr("images", "tag", "--force", name, *tags)

    def remove_all_but(self, wanted: Names) -> None:
        """Remove all other names; containerd collects images without a name."""
        kept = {*wanted, *(tag for tags in wanted.values() for tag in tags)}
        if others := sorted(self._names() - kept):
            self._ctr("images", "remove", "--sync", *others)

    @property
    def _registries(self) -> Path:
        return self.directory / "registries"

    def _pull(self, name: str) -> None:
        self._ctr("images", "pull", "--hosts-dir", str(self._registries), name)

    def _names(self) -> set[str]:
        return set(self._ctr("images", "list", "--quiet").split())

    def _ctr(self, *arguments: str) -> str:
        return containerd.ctr(self.socket, *arguments, log=self.log)


def _link_all(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for each in source.iterdir():
        (target / each.name).symlink_to(each)
