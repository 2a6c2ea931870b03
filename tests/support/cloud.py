"""A cloud in a lab, used through `cobalt openstack`."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cobaltlab.cloud.external import ExternalHost
from tests.support.lab import CommandFailed, Lab, eventually

NAMESPACE = "openstack"
PLANE = "lab"
DEMO = "demo"
SERVICES = {"image": "glance", "server": "nova", "volume": "cinder"}
"""The service of each kind of object."""


@dataclass(frozen=True)
class Cloud:
    """Operations of tests on a cloud."""

    lab: Lab

    def run(self, *arguments: str) -> str:
        """Run the OpenStack client of this machine."""
        return self.lab.cobalt("openstack", "--namespace", NAMESPACE, *arguments)

    def get(self, *arguments: str) -> Any:
        """Run the OpenStack client and decode its JSON output."""
        return json.loads(self.run(*arguments, "--format", "json"))

    def python(self, source: str, *arguments: str) -> str:
        """Run a Python program in the toolbox; return its output."""
        command = ("exec", "-i", "-n", NAMESPACE, "deployment/openstack-client", "-c", "client")
        return self.lab.kubectl(*command, "--", "python3", "-", *arguments, input=source).strip()

    def plane(self) -> dict[str, Any]:
        """The ControlPlane."""
        return self.lab.get("controlplane", PLANE, "-n", NAMESPACE)

    def change(self, **spec: Any) -> None:
        """Change the ControlPlane by a merge patch of its spec."""
        patch = json.dumps({"spec": spec})
        words = ("patch", "controlplane", PLANE, "-n", NAMESPACE, "--type=merge", "-p", patch)
        self.lab.kubectl(*words)

    def is_ready(self, found: dict[str, Any] | None = None) -> bool:
        """Whether an object, by default the ControlPlane, is Ready in its newest generation."""
        found = found or self.plane()
        return any(
            (each["type"], each["status"], each.get("observedGeneration"))
            == ("Ready", "True", found["metadata"]["generation"])
            for each in found.get("status", {}).get("conditions", ())
        )

    def remove(self, kind: str, name: str) -> None:
        """Delete an object in any state, if it exists."""
        try:
            self.run(kind, "delete", name, *(["--wait"] if kind == "server" else []))
        except CommandFailed as error:
            if not re.search(r"No \w+ (found for|with a name or ID)", str(error)):
                raise

    def console(self, server: str) -> str:
        """The console output of a server."""
        return self.run("console", "log", "show", server)

    def wait_for_console(self, server: str, text: str) -> str:
        """Wait for a text in the console output; return the whole line."""

        def line() -> str:
            lines = [each.strip() for each in self.console(server).splitlines()]
            return next((each for each in lines if text in each), "")

        return eventually(line, f"console output of server {server} contains {text!r}")

    def address(self, server: str) -> str:
        """The address of a server in the network `demo`."""
        found: str = self.get("server", "show", server)["addresses"][DEMO][0]
        return found

    def host(self, server: str) -> str:
        """The node that a server runs on."""
        found: str = self.get("server", "show", server)["OS-EXT-SRV-ATTR:host"]
        return found

    def floating(self) -> str:
        """The floating address of the server `demo`."""
        address = self.address(DEMO)
        (found,) = [
            each["Floating IP Address"]
            for each in self.get("floating", "ip", "list")
            if each["Fixed IP Address"] == address
        ]
        return str(found)

    def wait_for_status(self, kind: str, name: str, status: str) -> None:
        """Wait until an object has a status; `error` ends the wait, for it never changes."""
        found: dict[str, Any] = {}

        def is_final() -> bool:
            found.clear()
            found.update(self.get(kind, "show", name))
            return found["status"].lower() in {status, "error"}

        problem = ""
        try:
            eventually(is_final, f"{kind} {name} is {status}")
        except AssertionError as error:
            problem = str(error)
        if found["status"].lower() != status:
            text = json.dumps(found, indent=1)
            raise AssertionError(f"{problem}\n{kind} {name}: {text}\n{self._evidence(kind)}")

    def _evidence(self, kind: str) -> str:
        """What shows why an object of a service does not reach its status."""
        service = SERVICES[kind]
        selected = ("-n", NAMESPACE, "-l", f"app.kubernetes.io/name={service}")
        logs = ("logs", *selected, "--all-containers", "--prefix", "--tail=200")
        pods = self.lab.attempt("get", "pods", "-A", "-o", "wide")
        return f"{pods}\n{self.lab.attempt(*logs)}"

    @contextmanager
    def external_host(self) -> Iterator[ExternalHost]:
        """A host on the external network."""
        with ExternalHost(self.lab.state_dir.require_record().index) as found:
            yield found


def raw_disk(file: Path) -> tuple[str, ...]:
    """Write a disk of one MiB; arguments that make an image of it."""
    file.write_bytes(bytes(1 << 20))
    return ("--file", str(file), "--disk-format", "raw", "--container-format", "bare")


@dataclass
class Pings:
    """How many pings were sent and answered."""

    sent: int = 0
    answered: int = 0

    @property
    def lost(self) -> int:
        return self.sent - self.answered


@contextmanager
def pinging(external: ExternalHost, address: str, directory: Path) -> Iterator[Pings]:
    """Ping an address ten times a second during the `with` block."""
    found, stop = Pings(), directory / "stop"
    script = (
        f"ping -n -q -i 0.1 {address} & "
        f"while [ ! -e {stop} ]; do sleep 0.1; done; kill -INT $!; wait $!"
    )
    with ThreadPoolExecutor(1) as pool:
        pinged = pool.submit(external.run, "sh", "-c", script)
        try:
            yield found
        finally:
            stop.touch()
    lines = pinged.result().stdout.splitlines()
    words = next(each for each in lines if "packets transmitted" in each).split()
    found.sent, found.answered = int(words[0]), int(words[3])


@dataclass
class Requests:
    """Requests to a service, and errors of those that failed."""

    sent: int = 0
    failed: list[str] = field(default_factory=list)


@contextmanager
def requesting(cloud: Cloud) -> Iterator[Requests]:
    """List servers ten times a second during the `with` block."""
    found, stop = Requests(), "/tmp/stop-asking"
    source = (Path(__file__).parents[1] / "e2e/cloud/agents/requests.py").read_text()
    with ThreadPoolExecutor(1) as pool:
        requests = pool.submit(cloud.python, source, stop)
        try:
            yield found
        finally:
            cloud.python(f"open({stop!r}, 'w')")
    result = json.loads(requests.result().splitlines()[-1])
    found.sent, found.failed = result["sent"], result["failed"]
