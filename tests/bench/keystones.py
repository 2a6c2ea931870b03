"""Keystones on simulated nodes, and the process of their operator as the measured thing."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from cobaltcore.api import crd, keystone
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import conditions, kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import Key, Object, WatchScope
from cobaltcore.runtime.store import Change
from cobaltlab import pki
from tests.bench.child import OperatorFailed
from tests.support import openstack, services
from tests.support.control_plane import ControlPlaneHarness
from tests.support.openstack_peer import peer
from tests.support.ports import ReservedPort
from tests.support.simulated_nodes import SimulatedNodes

LAUNCHER = Path(__file__).with_name("operators") / "cobalt_run.py"
USER = "keystone-operator"
NODES = 8
READY_SECONDS = 900
EXIT_SECONDS = 30
SETTLED_SECONDS = 2.0
"""The operator rests after so long without a tick of CPU time beyond its idle ones."""
IDLE_CPU_SECONDS = 0.03


class Operator:
    """A running `cobalt run keystone`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.started = time.perf_counter()

    @property
    def cpu_seconds(self) -> float:
        """User and system time."""
        fields = self._read("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_mib(self) -> float:
        """The most memory that was resident."""
        lines = self._read("status").splitlines()
        return next(int(each.split()[1]) for each in lines if each.startswith("VmHWM:")) / 1024

    async def rests(self) -> None:
        """Wait until the process does nothing any more."""
        before = -1.0
        while (now := self.cpu_seconds) - before > IDLE_CPU_SECONDS:
            before = now
            await asyncio.sleep(SETTLED_SECONDS)

    async def stop(self) -> float:
        """The seconds from SIGTERM to the end."""
        started = time.perf_counter()
        if self._process.returncode is None:
            self._process.terminate()
        async with asyncio.timeout(EXIT_SECONDS):
            await self._process.wait()
        return time.perf_counter() - started

    def _read(self, name: str) -> str:
        if self._process.returncode is not None:
            raise OperatorFailed(f"the operator ended by itself:\n{self._log.read_text()[-4000:]}")
        return Path(f"/proc/{self._process.pid}/{name}").read_text()


async def trial(program: str, *, count: int) -> dict[str, float]:
    """Start over nothing, over new Keystones, and over Ready ones; values by name."""
    values: dict[str, float] = {}
    with _plane() as plane:
        async with _running(program, plane) as operator:
            await operator.rests()
            values |= {"base_cpu_s": operator.cpu_seconds, "base_rss_mib": operator.peak_mib}
        namespace = plane.create_namespace("bench")
        await _create(plane, namespace, count)
        mark = plane.mark()
        async with _running(program, plane) as operator:
            times = await _ready(plane, namespace, count)
            values["first_s"] = times[0] - operator.started
            values["ready_s"] = times[-1] - operator.started
            await operator.rests()
            values |= {"cpu_s": operator.cpu_seconds, "rss_mib": operator.peak_mib}
            values["requests"] = len(plane.audit(since=mark, user=USER))
            values["exit_s"] = await operator.stop()
        mark = plane.mark()
        async with _running(program, plane) as operator:
            await operator.rests()
            values["restart_cpu_s"] = operator.cpu_seconds
            values["restart_requests"] = len(plane.audit(since=mark, user=USER))
    return {name: round(value, 2) for name, value in values.items()}


@contextmanager
def _plane() -> Iterator[ControlPlaneHarness]:
    with (
        ControlPlaneHarness(controller_manager=True) as plane,
        SimulatedNodes(plane, count=NODES),
    ):
        plane.install_crds([*crd.manifests(), *services.foreign_crds()])
        yield plane


@asynccontextmanager
async def _running(program: str, plane: ControlPlaneHarness) -> AsyncIterator[Operator]:
    config = plane.kubeconfig(USER, groups=(pki.ADMINISTRATORS,))
    port = ReservedPort()
    # The operator does not share its port, so that it is free only now.
    port.release()
    log = plane.directory / "operator.log"
    async with peer() as openstack:
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *(Path(program).with_name("python"), LAUNCHER, openstack.url),
                *("run", "keystone", f"--kubeconfig={config}"),
                *(f"--health-port={port.number}", "--log-level=WARNING"),
                stdout=output,
                stderr=output,
            )
        operator = Operator(process, log)
        try:
            yield operator
        finally:
            await operator.stop()


async def _create(plane: ControlPlaneHarness, namespace: str, count: int) -> None:
    client = _client(plane)
    for name in ("keystone-db", "keystone-admin"):
        await client.create(SECRET, openstack.a_secret(Key(namespace, name)))
    for number in range(count):
        await client.create(keystone.KIND, _keystone(Key(namespace, f"keystone-{number:03}")))
    await client.close()


def _keystone(key: Key) -> Object:
    return {
        "apiVersion": keystone.KIND.api_version,
        "kind": keystone.KIND.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {
            "replicas": 1,
            "image": {"repository": "ghcr.io/c5c3/keystone", "tag": "28.0.0"},
            "database": {
                "host": "db.example.com",
                "database": "keystone",
                "secretRef": {"name": "keystone-db"},
            },
            "bootstrap": {"adminPasswordSecretRef": {"name": "keystone-admin"}},
        },
    }


async def _ready(plane: ControlPlaneHarness, namespace: str, count: int) -> list[float]:
    """When each Keystone became Ready, in order."""
    client = _client(plane)
    informer = Informer(client, keystone.KIND, WatchScope(namespace))
    times: dict[Key, float] = {}
    complete = asyncio.Event()

    def saw(change: Change) -> None:
        if conditions.is_true(conditions.of(change.latest), "Ready"):
            times.setdefault(change.key, time.perf_counter())
        if len(times) == count:
            complete.set()

    informer.on_change(saw)
    following = asyncio.ensure_future(informer.run())
    try:
        async with asyncio.timeout(READY_SECONDS):
            await complete.wait()
    finally:
        following.cancel()
        await asyncio.wait({following})
        await client.close()
    return sorted(times.values())


def _client(plane: ControlPlaneHarness) -> Client:
    connection = kubeconfig.load(plane.kubeconfig(), environ={})
    return Client(HttpTransport(connection, agent="bench-load"))
