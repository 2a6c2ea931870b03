"""Where an instance keeps everything: one directory, locked while a command changes it."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.lab import errors, machine, pki, record

DEFAULT_ROOT = Path("/var/lib/cobaltcore")
ROOT_VARIABLE = "COBALTCORE_STATE"
DEFAULT_NAME = "lab"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one instance and what is in it."""

    name: str
    directory: Path

    @property
    def keys(self) -> pki.Pki:
        """Certificates and kubeconfigs."""
        return pki.Pki(self.directory / "keys")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "keys" / "admin.kubeconfig"

    @property
    def programs(self) -> Path:
        """The programs that this instance runs, whatever happens to the cache they came from."""
        return self.directory / "bin"

    @property
    def images(self) -> Path:
        """Archives of the images that every cluster needs."""
        return self.directory / "images"

    @property
    def logs(self) -> Path:
        """Logs of the processes on the host; nodes have their own."""
        return self.directory / "log"

    def node(self, name: str) -> Path:
        """The directory of a node."""
        return self.directory / "nodes" / name

    def instance(self) -> record.Instance | None:
        """What was decided for the instance, if it exists."""
        try:
            return record.read(self.directory)
        except FileNotFoundError:
            return None

    def existing(self) -> record.Instance:
        """What was decided for the instance; an error for people if it does not exist."""
        found = self.instance()
        if found is None:
            raise errors.LabError(
                f"there is no lab named {self.name} in {self.directory.parent}",
                hint=f"start it with: cobalt up{self._name_flag}",
            )
        return found

    def running(self) -> record.Instance:
        """As `existing`, but an error also if it is stopped."""
        found = self.existing()
        if not any(node.pid() for node in self.machines()):
            raise errors.LabError(
                f"the lab {self.name} is stopped",
                hint=f"start it with: cobalt up{self._name_flag}",
            )
        return found

    def machines(self) -> list[machine.Machine]:
        """All nodes that are described."""
        found = self.instance()
        if found is None:
            return []
        return machine.all_of(self.directory, instance=found.name, index=found.index)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one command at a time change the instance; the lock goes with the process."""
        handle = self._lock()
        try:
            yield
        finally:
            self._remove_if_empty()
            os.close(handle)

    def _remove_if_empty(self) -> None:
        """Leave no directory of an instance that came to nothing, nor ours of all instances."""
        root = self.directory.parent
        places = [self.directory, *([root] if root == DEFAULT_ROOT else [])]
        for place in places:
            if place.exists() and not any(place.iterdir()):
                place.rmdir()

    def _lock(self) -> int:
        while True:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.directory, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(handle)
                raise errors.LabError(
                    f"another cobalt command works on the lab {self.name} right now",
                    hint="wait until it has ended, then try again",
                ) from error
            # Whoever held it before may have removed the directory.
            if self.directory.exists() and os.path.samestat(
                os.fstat(handle), self.directory.stat()
            ):
                return handle
            os.close(handle)

    def is_idle(self) -> bool:
        """Whether no command works on the instance right now."""
        try:
            with self.locked():
                return True
        except errors.LabError:
            return False

    @property
    def _name_flag(self) -> str:
        return "" if self.name == DEFAULT_NAME else f" --name {self.name}"


def root(environment: Mapping[str, str]) -> Path:
    """The directory of all instances."""
    return Path(environment.get(ROOT_VARIABLE) or DEFAULT_ROOT).absolute()


def home(name: str, environment: Mapping[str, str]) -> Home:
    """The home of an instance, existing or not."""
    if not _NAME.fullmatch(name):
        raise errors.LabError(
            f"{name!r} cannot be the name of a lab",
            hint="use up to 32 lower-case letters, digits and dashes",
        )
    return Home(name, root(environment) / name)


def all_homes(environment: Mapping[str, str]) -> list[Home]:
    """All instances that have a record."""
    found = root(environment).glob(f"*/{record.FILE}")
    return [Home(path.parent.name, path.parent) for path in sorted(found)]
