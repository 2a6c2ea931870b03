"""The OpenStack client on this machine: versions and hashes of a release's images, in an environment of its own."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cobaltimages import cache, lock, sources
from cobaltlab import errors

PACKAGES = ("python-openstackclient", "python-barbicanclient")
LAYERS = ("openstack-libs", "tempest")
"""Whose pins have everything that the client needs."""


def ensure(*, report: Callable[[str], None]) -> Path:
    """The interpreter of the environment, which is created where it is missing."""
    tree = sources.find()
    release = tree.release(tree.releases()[-1])
    pins = [release / "requirements" / f"{layer}.txt" for layer in LAYERS]
    home = cache.cache_directory() / "openstack-client"
    final = home / _key(pins)
    if not (final / "bin" / "python").exists():
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home):
            if not (final / "bin" / "python").exists():
                report("installing the OpenStack client")
                _create(lock.find_uv(tree.root), pins, final)
    return final / "bin" / "python"


def requirements(texts: list[str]) -> str:
    """The lines of the client's packages, each with its hashes. Pure."""
    found: dict[str, str] = {}
    for text in texts:
        found |= lock.pins_with_hashes(text)
    return "".join(found[name] for name in PACKAGES)


def _key(pins: list[Path]) -> str:
    """A digest of what is installed, and for which Python."""
    digest = hashlib.sha256(f"{sys.executable} {sys.version}\n{PACKAGES}\n".encode())
    for path in pins:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _create(uv: str, pins: list[Path], final: Path) -> None:
    """Install into a directory next to the final one, then rename it: it is whole or not there."""
    for leftover in final.parent.glob(".new-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=final.parent) as scratch:
        fresh = Path(scratch, "files")
        wanted = Path(scratch, "requirements.txt")
        wanted.write_text(requirements([path.read_text() for path in pins]))
        limits = [f"--constraints={path}" for path in pins]
        _run(uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(fresh))
        place = ("--python", str(fresh / "bin" / "python"))
        how = ("--quiet", "--require-hashes", "--compile-bytecode")
        _run(uv, "pip", "install", *how, *place, *limits, f"-r{wanted}")
        fresh.rename(final)


def _run(*command: str) -> None:
    # As in tools/bootstrap.py: some networks re-sign TLS with a CA of their own.
    settings: Mapping[str, str] = {
        **os.environ,
        "UV_SYSTEM_CERTS": "true",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    done = subprocess.run(  # noqa: S603 arguments are ours
        command, capture_output=True, text=True, env=settings, check=False
    )
    if done.returncode:
        raise errors.LabError(
            f"the OpenStack client could not be installed:\n{done.stderr.strip()}",
            hint="let this machine reach a Python package index (see ~/.config/uv/uv.toml)",
        )


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold a lock; the kernel releases it when the process ends."""
    with (home / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
