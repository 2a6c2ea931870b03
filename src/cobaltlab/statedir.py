"""The state directory of a lab, locked while a command changes it."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cobaltlab import errors, nodeprocess, pki, record

DEFAULT_ROOT = Path("/var/lib/cobaltcore")
ROOT_VARIABLE = "COBALTCORE_STATE"
DEFAULT_NAME = "lab"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class StateDir:
    """The directory of one lab and its contents."""

    name: str
    directory: Path

    @property
    def keys(self) -> pki.Pki:
        return pki.Pki(self.directory / "keys")

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the cluster administrator."""
        return self.directory / "keys" / "admin.kubeconfig"

    @property
    def programs(self) -> Path:
        """Binaries of this lab, independent of the build cache they come from."""
        return self.directory / "bin"

    @property
    def images(self) -> Path:
        """OCI archives of the pause and CoreDNS images."""
        return self.directory / "images"

    @property
    def logs(self) -> Path:
        """Logs of processes on the host; nodes have their own."""
        return self.directory / "log"

    def node(self, name: str) -> Path:
        return self.directory / "nodes" / name

    def read_record(self) -> record.Instance | None:
        """The record of the lab; None if it does not exist."""
        try:
            return record.read(self.directory)
        except FileNotFoundError:
            return None

    def require_record(self) -> record.Instance:
        """The record of the lab; raises LabError if it does not exist."""
        found = self.read_record()
        if found is None:
            raise errors.LabError(
                f'lab "{self.name}" does not exist in {self.directory.parent}',
                hint=f"start it: cobalt up{self._name_flag}",
            )
        return found

    def require_running(self) -> record.Instance:
        """The record of the lab; raises LabError if it does not exist or is stopped."""
        found = self.require_record()
        if not any(node.pid() for node in self.node_processes()):
            raise errors.LabError(
                f'lab "{self.name}" is stopped',
                hint=f"start it: cobalt up{self._name_flag}",
            )
        return found

    def node_processes(self) -> list[nodeprocess.NodeProcess]:
        found = self.read_record()
        if found is None:
            return []
        return nodeprocess.find_all(self.directory, instance=found.name, index=found.index)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the lab; the kernel releases it when the process ends."""
        handle = self._lock()
        try:
            yield
        finally:
            self._remove_if_empty()
            os.close(handle)

    def _remove_if_empty(self) -> None:
        """Remove the directory of a lab that was never created, and the default root if it is empty."""
        root = self.directory.parent
        directories = [self.directory, *([root] if root == DEFAULT_ROOT else [])]
        for each in directories:
            if each.exists() and not any(each.iterdir()):
                each.rmdir()

    def _lock(self) -> int:
        while True:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.directory, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(handle)
                raise errors.LabError(
                    f'another cobalt command holds the lock of lab "{self.name}"',
                    hint="wait until it has ended, then try again",
                ) from error
            # The previous holder of the lock may have removed the directory.
            if self.directory.exists() and os.path.samestat(
                os.fstat(handle), self.directory.stat()
            ):
                return handle
            os.close(handle)

    def is_idle(self) -> bool:
        """Whether no command holds the lock."""
        try:
            with self.locked():
                return True
        except errors.LabError:
            return False

    @property
    def _name_flag(self) -> str:
        return "" if self.name == DEFAULT_NAME else f" --name {self.name}"


def root(environment: Mapping[str, str]) -> Path:
    """The parent of the state directories of all labs."""
    return Path(environment.get(ROOT_VARIABLE) or DEFAULT_ROOT).absolute()


def find(name: str, environment: Mapping[str, str]) -> StateDir:
    """The state directory of a lab, existing or not."""
    if not _NAME.fullmatch(name):
        raise errors.LabError(
            f'"{name}" is not a valid name of a lab',
            hint="use 1 to 32 lower-case letters, digits and dashes; start and end with a letter or digit",
        )
    return StateDir(name, root(environment) / name)


def find_all(environment: Mapping[str, str]) -> list[StateDir]:
    """State directories of all labs that have a record."""
    found = root(environment).glob(f"*/{record.FILE}")
    return [StateDir(path.parent.name, path.parent) for path in sorted(found)]
