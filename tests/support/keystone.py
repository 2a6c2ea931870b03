"""A real Keystone for tests: its own virtualenv in the cache, SQLite, Fernet keys, uWSGI on loopback.

with KeystoneHarness() as keystone:
    keystone.clouds_yaml(...)
    keystone.stop(); keystone.start()
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from cobaltimages import cache
from cobaltlab import errors, process
from tests.support.ports import ReservedPort
from tests.support.scratch import ScratchDirectory

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "releases" / "2025.2" / "upper-constraints.txt"
REQUIREMENTS = ("keystone==28.0.0", "pyuwsgi")
ADMIN_PASSWORD = "throw-away"
HOST = "127.0.0.1"
WAIT_LIMIT = timedelta(seconds=120)
# uv and pip obey this only when it is unset; without bytecode every start takes three times as long.
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": ""}

_FOLDERS = ("fernet-keys", "credential-keys", "policy.d")
_CONFIGURATION = """
[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///{directory}/keystone.sqlite
[fernet_tokens]
key_repository = {directory}/fernet-keys
[credential]
key_repository = {directory}/credential-keys
[identity]
password_hash_rounds = 4
[oslo_policy]
policy_dirs = {directory}/policy.d
"""


def installation() -> Path:
    """A folder with Keystone's programs and fresh data, created once per set of pins."""
    wanted = "\n".join([*REQUIREMENTS, _CONFIGURATION, CONSTRAINTS.read_text()])
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:16]
    home = cache.cache_directory() / "test-keystone" / digest
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        if not (home / "data").exists():
            _install(home / "venv")
            shutil.rmtree(home / "draft", ignore_errors=True)
            _bootstrap(home / "venv" / "bin" / "keystone-manage", home / "draft")
            (home / "draft").rename(home / "data")
    return home


class KeystoneHarness:
    """Starts and stops one Keystone; its data stays until `close`."""

    def __init__(self) -> None:
        self._installation = installation()
        self._scratch = ScratchDirectory("cobaltcore-keystone-")
        self.directory = self._scratch.path
        self._port = ReservedPort()
        self.url = f"http://{HOST}:{self._port.number}/v3"
        self._server = process.Child(
            "keystone",
            self._command(),
            self.directory / "keystone.log",
            environment={
                **_ENVIRONMENT,
                "OS_KEYSTONE_CONFIG_FILES": str(self.directory / "keystone.conf"),
            },
        )

    def __enter__(self) -> Self:
        try:
            shutil.copytree(self._installation / "data", self.directory, dirs_exist_ok=True)
            _configure(self.directory)
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Serve on the old address and wait until it answers."""
        self._server.start()
        self._server.wait_until(self._answers, within=WAIT_LIMIT)

    def stop(self) -> None:
        """Stop serving; the data stays."""
        self._server.stop()

    def close(self) -> None:
        """Stop and remove everything."""
        self._server.stop()
        self._port.release()
        self._scratch.remove(keep_logs=False)

    def manage(self, *arguments: str) -> None:
        """Run keystone-manage with this Keystone's database and keys."""
        program = self._installation / "venv" / "bin" / "keystone-manage"
        _run([str(program), f"--config-file={self.directory / 'keystone.conf'}", *arguments])

    def revoke(self, token: str) -> None:
        """Make a token useless."""
        request = urllib.request.Request(f"{self.url}/auth/tokens", method="DELETE")
        request.add_header("X-Auth-Token", token)
        request.add_header("X-Subject-Token", token)
        with urllib.request.urlopen(request, timeout=60):
            return

    def password_hash(self, user_id: str) -> str:
        """Changes whenever a password is set, be it the same one."""
        query = (
            "SELECT password_hash FROM password JOIN local_user "
            "ON password.local_user_id = local_user.id WHERE local_user.user_id = ?"
        )
        with closing(sqlite3.connect(self.directory / "keystone.sqlite")) as database:
            ((found,),) = database.execute(query, [user_id]).fetchall()
        return str(found)

    def admin(self) -> dict[str, Any]:
        """The administrator's login, as an entry of clouds.yaml."""
        return {
            "auth": {
                "auth_url": self.url,
                "username": "admin",
                "password": ADMIN_PASSWORD,
                "project_name": "admin",
                "user_domain_name": "Default",
                "project_domain_name": "Default",
            },
            "region_name": "RegionOne",
        }

    def clouds_yaml(self, **clouds: Mapping[str, Any]) -> str:
        """A clouds.yaml; the administrator's cloud is called `openstack` if none is named."""
        return yaml.safe_dump({"clouds": clouds or {"openstack": self.admin()}})

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.url, timeout=30) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _command(self) -> list[str | Path]:
        return [
            self._installation / "venv" / "bin" / "uwsgi",
            f"--http-socket={HOST}:{self._port.number}",
            "--reuse-port",
            "--master",
            "--die-on-term",
            "--need-app",
            "--lazy-apps",
            "--enable-threads",
            "--processes=1",
            "--threads=1",
            "--buffer-size=65535",
            "--http-chunked-input",
            "--add-header=Connection: close",
            "--disable-logging",
            "--module=keystone.wsgi.api:application",
        ]


@contextmanager
def _locked(path: Path) -> Any:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(virtualenv: Path) -> None:
    uv = shutil.which("uv") or shutil.which(ROOT / ".cache" / "uv")
    if uv is None:
        raise errors.LabError("uv is not there", hint="run any make target once, or install uv")
    shutil.rmtree(virtualenv, ignore_errors=True)
    _run([uv, "venv", "--quiet", "--python=3.11", str(virtualenv)])
    python = f"--python={virtualenv / 'bin' / 'python'}"
    pins = f"--constraints={CONSTRAINTS}"
    _run([uv, "pip", "install", "--quiet", "--compile-bytecode", python, pins, *REQUIREMENTS])


def _bootstrap(manage: Path, directory: Path) -> None:
    """Make the tables, the keys, and what `keystone-manage bootstrap` makes."""
    for name in _FOLDERS:
        (directory / name).mkdir(mode=0o700, parents=True)
    me = [f"--keystone-user={os.geteuid()}", f"--keystone-group={os.getegid()}"]
    # Keystone is not looked up in the catalogue here: every login names its address.
    url = "http://keystone.invalid/v3"
    urls = [f"--bootstrap-{each}-url={url}" for each in ("admin", "internal", "public")]
    command = [str(manage), f"--config-file={_configure(directory)}"]
    _run([*command, "db_sync"])
    _run([*command, "fernet_setup", *me])
    _run([*command, "credential_setup", *me])
    _run(
        [*command, "bootstrap", *urls, "--bootstrap-region-id=RegionOne"],
        {"OS_BOOTSTRAP_PASSWORD": ADMIN_PASSWORD},
    )
    # Keystone reads while it writes, in one request: only this journal allows that.
    with closing(sqlite3.connect(directory / "keystone.sqlite")) as database:
        database.execute("PRAGMA journal_mode=WAL")


def _configure(directory: Path) -> Path:
    path = directory / "keystone.conf"
    path.write_text(_CONFIGURATION.format(directory=directory))
    return path


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_ENVIRONMENT, **(environment or {})},
    )
    if done.returncode:
        shown = " ".join(command[:4])
        raise errors.LabError(
            f"{shown} … ended with exit code {done.returncode}:\n{done.stderr.strip()[-3000:]}",
            hint="a Keystone for tests needs a package index, and Python 3.11",
        )
