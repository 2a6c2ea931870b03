"""A cloud in a lab, driven by `cobalt openstack`, as its users do it."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cobaltcore.lab.cloud.outside import Outside
from tests.support.lab import CommandFailed, Lab, eventually

NAMESPACE = "openstack"
DEMO = "demo"


@dataclass(frozen=True)
class Cloud:
    """What a test does with a cloud."""

    lab: Lab

    def run(self, *arguments: str) -> str:
        """Run a command of OpenStack's client."""
        return self.lab.cobalt("openstack", *arguments)

    def get(self, *arguments: str) -> Any:
        """Run a command that prints something, and read it."""
        return json.loads(self.run(*arguments, "--format", "json"))

    def python(self, source: str, *arguments: str) -> str:
        """Run a Python program in the toolbox; what it prints."""
        command = ("exec", "-i", "-n", NAMESPACE, "deployment/openstack-client", "-c", "client")
        return self.lab.kubectl(*command, "--", "python3", "-", *arguments, input=source).strip()

    def remove(self, kind: str, name: str) -> None:
        """Delete something, whatever state it is in; nothing to delete is fine."""
        try:
            self.run(kind, "delete", name, *(["--wait"] if kind == "server" else []))
        except CommandFailed as error:
            if not re.search(r"No \w+ (found for|with a name or ID)", str(error)):
                raise

    def console(self, server: str) -> str:
        """What a server has said on its console."""
        return self.run("console", "log", "show", server)

    def says(self, server: str, words: str) -> str:
        """Wait until a server says something on its console; the whole line."""

        def line() -> str:
            said = [each.strip() for each in self.console(server).splitlines()]
            return next((each for each in said if words in each), "")

        return eventually(line, f"server {server} says {words!r}")

    def address(self, server: str) -> str:
        """The address of a server in the network `demo`."""
        found: str = self.get("server", "show", server)["addresses"][DEMO][0]
        return found

    def host(self, server: str) -> str:
        """The node that a server runs on."""
        found: str = self.get("server", "show", server)["OS-EXT-SRV-ATTR:host"]
        return found

    def floating(self) -> str:
        """The address of the server `demo` from outside."""
        address = self.address(DEMO)
        (found,) = [
            each["Floating IP Address"]
            for each in self.get("floating", "ip", "list")
            if each["Fixed IP Address"] == address
        ]
        return str(found)

    def becomes(self, kind: str, name: str, status: str) -> None:
        """Wait until something has a status."""
        eventually(
            lambda: self.get(kind, "show", name)["status"].lower() == status,
            f"{kind} {name} is {status}",
        )

    @contextmanager
    def outside(self) -> Iterator[Outside]:
        """Somebody on the external network."""
        with Outside(self.lab.place.existing().index) as found:
            yield found


@dataclass
class Pings:
    """How many pings were sent and answered."""

    sent: int = 0
    answered: int = 0

    @property
    def lost(self) -> int:
        return self.sent - self.answered


@contextmanager
def pinging(outside: Outside, address: str, directory: Path) -> Iterator[Pings]:
    """Ping an address ten times a second for as long as the block lasts."""
    found, stop = Pings(), directory / "stop"
    script = (
        f"ping -n -q -i 0.1 {address} & "
        f"while [ ! -e {stop} ]; do sleep 0.1; done; kill -INT $!; wait $!"
    )
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(outside.run, "sh", "-c", script)
        try:
            yield found
        finally:
            stop.touch()
    lines = told.result().stdout.splitlines()
    words = next(each for each in lines if "packets transmitted" in each).split()
    found.sent, found.answered = int(words[0]), int(words[3])


@dataclass
class Asked:
    """Requests to a service, and what became of those that failed."""

    sent: int = 0
    failed: list[str] = field(default_factory=list)


@contextmanager
def asking(cloud: Cloud) -> Iterator[Asked]:
    """List servers ten times a second for as long as the block lasts."""
    found, stop = Asked(), "/tmp/stop-asking"
    source = (Path(__file__).parents[1] / "e2e/cloud/inside/requests.py").read_text()
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(cloud.python, source, stop)
        try:
            yield found
        finally:
            cloud.python(f"open({stop!r}, 'w')")
    result = json.loads(told.result().splitlines()[-1])
    found.sent, found.failed = result["sent"], result["failed"]
