"""Directories of test servers: removed by their owner, or by the next run if the owner was killed."""

import fcntl
import shutil
import tempfile
from pathlib import Path

_LOCK = "owner.lock"


class ScratchDirectory:
    """A directory that belongs to this process while the process lives."""

    def __init__(self, prefix: str) -> None:
        remove_orphans(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        fresh = self.path / "new.lock"
        self._lock = fresh.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fresh.rename(self.path / _LOCK)  # under this name it is never free

    def remove(self, *, keep_logs: bool) -> None:
        """Remove it, or all of it but the logs at its top."""
        for each in self.path.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            elif not (keep_logs and each.suffix == ".log"):
                each.unlink()
        if not keep_logs:
            self.path.rmdir()
        self._lock.close()


def remove_orphans(prefix: str) -> None:
    """Remove directories whose owner is gone; logs that were kept on purpose have no lock file."""
    for lock in Path(tempfile.gettempdir()).glob(f"{prefix}*/{_LOCK}"):
        try:
            with lock.open() as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Children end a moment after their parent and may still write.
                shutil.rmtree(lock.parent, ignore_errors=True)
        except (BlockingIOError, FileNotFoundError):
            continue
