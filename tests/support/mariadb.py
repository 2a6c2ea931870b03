"""A real MariaDB on loopback, set up by what the lab provider gives its pods."""

import shutil
import socket
import subprocess
from contextlib import ExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import pymysql

from cobaltimages import hostpackages
from cobaltlab import errors, process, progress
from cobaltlab.providers import mariadb_sql
from tests.support.scratch import ScratchDirectory

HOST = "127.0.0.1"
WAIT_LIMIT = timedelta(seconds=120)
# Without the service that the whole server brings; the client has what sets up a data directory.
PACKAGES = ("mariadb-server-core", "mariadb-client-core")


def program(name: str, *needed: str) -> str:
    """The path of a server's program; packages are installed if it is missing."""
    if _found(name) is None:
        hostpackages.install(needed, report=progress.Progress(name).update)
    found = _found(name)
    if found is None:
        hint = f"apt-get install --reinstall {' '.join(needed)}"
        raise errors.LabError(f"there is no {name}", hint=hint)
    return found


def _found(name: str) -> str | None:
    return shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin")


class MariaDBHarness:
    """Starts one server; `password` is its administrator's."""

    def __init__(self, password: str = 'it\'s "root" \\ %s') -> None:
        server = program("mariadbd", *PACKAGES)
        self.password = password
        self._scratch = ScratchDirectory("cobaltcore-mariadb-")
        self.port = free_port()
        directory = self._scratch.path
        statements = directory / "root.sql"
        statements.write_text(mariadb_sql.start_statements(password))
        arguments = [
            server,
            "--no-defaults",
            f"--datadir={directory}/data",
            f"--socket={directory}/socket",
            f"--pid-file={directory}/pid",
            f"--init-file={statements}",
            f"--bind-address={HOST}",
            f"--port={self.port}",
            "--user=root",
            "--skip-name-resolve",
            "--performance-schema=OFF",
            "--innodb-buffer-pool-size=16M",
            "--innodb-flush-log-at-trx-commit=0",
        ]
        self._server = process.Child("mariadbd", arguments, directory / "mariadbd.log")

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(self.close)
            self._start()
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server, and leave nothing."""
        self._server.kill()
        self._scratch.remove(keep_logs=False)

    def _start(self) -> None:
        directory = self._scratch.path
        subprocess.run(
            [
                program("mariadb-install-db", *PACKAGES),
                "--no-defaults",
                f"--datadir={directory}/data",
                "--user=root",
                "--skip-test-db",
            ],
            check=True,
            capture_output=True,
        )
        self._server.start()
        self._server.wait_until(self._answers, within=WAIT_LIMIT, what="answering")

    def query(
        self, text: str, values: tuple[Any, ...] = (), *, user: str = "root", password: str = ""
    ) -> list[tuple[Any, ...]]:
        """Run a statement as a user."""
        connection = pymysql.connect(
            host=HOST,
            port=self.port,
            user=user,
            password=(password or self.password).encode(),
            ssl_disabled=True,
            autocommit=True,
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(text, values)
            return list(cursor.fetchall())

    def accepts_login(self, user: str, password: str) -> bool:
        try:
            self.query("SELECT 1", user=user, password=password)
        except pymysql.err.OperationalError:
            return False
        return True

    def databases(self) -> set[str]:
        return {row[0] for row in self.query("SHOW DATABASES")}

    def _answers(self) -> bool:
        return self.accepts_login("root", self.password)


def free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        number: int = taken.getsockname()[1]
    return number
