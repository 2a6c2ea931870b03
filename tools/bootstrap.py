"""Create .venv on a machine that has only Python: fetch uv, install the packages of uv.lock.

Uses the standard library only, because no package is installed yet.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.7"
UV_DIGESTS = (
    "2c9bdc4a872b60a93c5f26c0791089ea11585a4f9d3b3c017d78eb8487505e25",  # x86_64
    "08f16fd463926786b702b497473511deae4b3e17a2fa6d22180950d6059a120d",  # aarch64
    "a90f5d95716ab83091f0f73a8e7ec64e557abf2a28537fcd719b2ac88e6f725a",  # aarch64, older pip
)
"""SHA-256 of the wheels for Linux: another file of this version is refused."""
OWN = Path(".cache/bootstrap")
LINK = Path(".cache/uv")


class BootstrapError(Exception):
    """The set-up failed; the message has the remedy."""


def check_python(version: tuple[int, ...] = sys.version_info[:2]) -> None:
    """Raise BootstrapError for a Python that is too old."""
    if version < (3, 11):
        found = ".".join(str(part) for part in version)
        raise BootstrapError(f"Python 3.11 or newer is needed, this is {found}: set PYTHON=...")


def find_uv(root: Path, path: str | None = None) -> Path | None:
    """An installed uv: on the path, or fetched before."""
    on_path = shutil.which("uv", path=path)
    own = root / OWN / "bin" / "uv"
    if on_path:
        return Path(on_path)
    return own if own.exists() else None


def fetch_uv(root: Path) -> Path:
    """Install uv from the package index into a directory of its own."""
    _ensure_venv_module()
    own = root / OWN
    print("fetching uv", file=sys.stderr)
    _run([sys.executable, "-m", "venv", "--clear", str(own)], "a virtual environment for uv")
    wanted = own / "requirements.txt"
    wanted.write_text(f"{UV}{''.join(f' --hash=sha256:{each}' for each in UV_DIGESTS)}\n")
    pip = [str(own / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    _run(
        [*pip, "--require-hashes", "--requirement", str(wanted)],
        f"{UV} from the package index: check the network and pip's settings",
    )
    return own / "bin" / "uv"


def sync(root: Path, uv: Path, environ: Mapping[str, str]) -> None:
    """Install exactly what the lock names."""
    command = [str(uv), "sync", "--frozen", "--quiet", "--python", sys.executable]
    # Use the system's CA bundle: some networks re-sign TLS with their own CA.
    settings = {**environ, "UV_SYSTEM_CERTS": "true", "UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(command, cwd=root, env=settings, check=False)
    if done.returncode:
        raise BootstrapError("uv could not install the packages of uv.lock, see above")


def link(root: Path, uv: Path) -> None:
    """Link uv to a fixed path for the Makefile."""
    place = root / LINK
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(uv.resolve())


def _ensure_venv_module() -> None:
    """Install the venv module, which Debian packages separately."""
    probe = [sys.executable, "-c", "import ensurepip, venv"]
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise BootstrapError("Python's venv module is missing: sudo apt-get install python3-venv")
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-yqq", "python3-venv"]):
        _run(command, "python3-venv from Debian")


def _run(command: list[str], what: str) -> None:
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise BootstrapError(f"could not get {what}")


def main(root: Path = ROOT) -> int:
    """Set up; 1 and a sentence if that fails."""
    try:
        check_python()
        uv = find_uv(root) or fetch_uv(root)
        link(root, uv)
        sync(root, uv, os.environ)
    except BootstrapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
