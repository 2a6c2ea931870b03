"""A small image for pods of tests: Debian's static busybox, put together without a registry."""

import shutil
import subprocess
from pathlib import Path

from cobaltimages import cache
from cobaltlab import ociarchive

PACKAGE = "busybox-static"
APPLETS = (
    *("cat", "date", "echo", "env", "hostname", "httpd", "id", "ip", "ls", "mkdir", "nc"),
    *("nslookup", "ping", "sh", "sleep", "sync", "test", "touch", "true"),
)


def binary() -> Path:
    """The program, fetched from the machine's Debian mirror once; nothing is installed."""
    home = cache.cache_directory() / "tests"
    found = home / "busybox"
    if not found.exists():
        fresh = home / ".busybox"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            _run(["apt-get", "download", PACKAGE], fresh)
        except RuntimeError:
            _run(["apt-get", "update"], fresh)
            _run(["apt-get", "download", PACKAGE], fresh)
        _run(["dpkg-deb", "--extract", *map(str, fresh.glob("*.deb")), "files"], fresh)
        shutil.copy2(fresh / "files/bin/busybox", found)
        shutil.rmtree(fresh)
    return found


def image() -> ociarchive.Image:
    """busybox under the names of the programs that tests use."""
    return ociarchive.Image(
        name="busybox",
        entrypoint=["/bin/busybox"],
        programs={"bin/busybox": binary()},
        links={f"bin/{name}": "busybox" for name in APPLETS},
    )


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
