"""A real RabbitMQ on loopback, set up by what the lab provider gives its pods."""

import base64
import urllib.error
import urllib.request
from contextlib import ExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from cobaltlab import process
from cobaltlab.providers import rabbitmq_http
from tests.support.mariadb import HOST, free_port, program
from tests.support.scratch import ScratchDirectory

WAIT_LIMIT = timedelta(seconds=240)
BROKER = "/usr/lib/rabbitmq/bin/rabbitmq-server"


class RabbitMQHarness:
    """Starts one broker; `username` and `password` are its administrator's."""

    def __init__(self) -> None:
        self.username, self.password = "admin", 'it\'s "odd" \\ \N{SNOWMAN}'
        self._scratch = ScratchDirectory("cobaltcore-rabbitmq-")
        self._stack = ExitStack()
        self.port, self._amqp, self._epmd, self._dist = (free_port() for _ in range(4))
        self.url = f"http://{HOST}:{self.port}"

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
        """End the broker, and leave nothing."""
        self._stack.close()
        self._scratch.remove(keep_logs=False)

    def _start(self) -> None:
        directory = self._scratch.path
        content = rabbitmq_http.definitions(self.username, self.password)
        (directory / "definitions.json").write_text(content)
        (directory / "plugins").write_text("[rabbitmq_management].\n")
        (directory / "rabbitmq.conf").write_text(
            f"listeners.tcp.local = {HOST}:{self._amqp}\n"
            f"management.tcp.ip = {HOST}\n"
            f"management.tcp.port = {self.port}\n"
            "management_agent.disable_metrics_collector = true\n"
            f"load_definitions = {directory}/definitions.json\n"
            "disk_free_limit.absolute = 10MB\n"
        )
        # Started by the broker it would outlive it.
        names = process.Child(
            "epmd",
            [program("epmd", "erlang-base"), "-address", HOST, "-port", str(self._epmd)],
            directory / "epmd.log",
        )
        broker = process.Child(
            "rabbitmq-server",
            [program(BROKER, "rabbitmq-server")],
            directory / "rabbitmq.log",
            environment=self._environment(),
        )
        for child in (names, broker):
            child.start()
            self._stack.callback(child.stop)
        broker.wait_until(self._answers, within=WAIT_LIMIT, what="answering")

    def get(self, *path: str, username: str = "", password: str = "") -> Any:
        """What the broker keeps under a path; None if nothing."""
        place = "/".join(quote(each, safe="") for each in path)
        login = f"{username or self.username}:{password or self.password}"
        token = base64.b64encode(login.encode()).decode()
        request = urllib.request.Request(
            f"{self.url}/api/{place}", headers={"Authorization": f"Basic {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return msgspec.json.decode(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return None
                raise

    def accepts_login(self, username: str, password: str) -> bool:
        """Whether an account with the tag `management` may log in."""
        try:
            return self.get("whoami", username=username, password=password) is not None
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def _answers(self) -> bool:
        try:
            return self.accepts_login(self.username, self.password)
        except urllib.error.URLError:
            return False

    def _environment(self) -> dict[str, str]:
        directory = str(self._scratch.path)
        return {
            "HOME": directory,
            "RABBITMQ_NODENAME": f"test{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._dist),
            "ERL_EPMD_ADDRESS": HOST,
            "ERL_EPMD_PORT": str(self._epmd),
            "RABBITMQ_MNESIA_BASE": f"{directory}/mnesia",
            "RABBITMQ_PID_FILE": f"{directory}/pid",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": f"{directory}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{directory}/plugins",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none "
            "+sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}",
        }
