"""From started nodes to a usable cluster: API server, add-ons, Ready nodes, CoreDNS."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cobaltcore.api.foreign import kubernetes
from cobaltcore.cli import phases
from cobaltcore.engine import readiness
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.meta import Desired, Key, Object
from cobaltcore.runtime.timestamps import parse_timestamp
from cobaltimages import logs
from cobaltlab import (
    artifacts,
    containerd,
    dnsquery,
    errors,
    manifests,
    nodeconfig,
    nodefiles,
    pidfile,
    policies,
    record,
    stalepods,
    statedir,
    subnets,
    supervisor,
    waiting,
)

MANAGER = "cobalt-lab"
TIMEOUT = timedelta(minutes=3)
SUPERVISOR_SECONDS = 20.0
POLL_SECONDS = 0.1

_LEASES = "kube-node-lease"
_DNS_NAME = f"kubernetes.default.svc.{nodeconfig.DOMAIN}"


class Bootstrap:
    """Waits for the parts of one cluster and applies its add-ons."""

    def __init__(
        self, state_dir: statedir.StateDir, instance: record.Instance, images: Mapping[str, str]
    ) -> None:
        self._state_dir = state_dir
        self._instance = instance
        self._images = images
        self._subnets = subnets.Subnets(instance.index)
        self._clock = SystemClock()
        self._supervised_until = 0.0
        connection = kubeconfig.load(state_dir.kubeconfig, environ={})
        self._client = Client(HttpTransport(connection, agent="cobalt-up"))

    async def run(self, progress: phases.Phases, *, started: Iterable[str]) -> None:
        """Wait for each part; nodes in `started` are Ready only after a new report of their kubelet."""
        fresh = set(started)
        began = datetime.now(UTC).replace(microsecond=0)
        self._supervised_until = self._clock.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                image = group.create_task(self._load_image())
                with progress.phase("API server"):
                    await self._wait(
                        "the API server did not become ready",
                        lambda: waiting.api_server_is_ready(self._client),
                    )
                    await stalepods.mark_not_ready(self._client, fresh)
                with progress.phase("add-ons"):
                    await self._apply(image)
                with progress.phase("nodes Ready") as phase:
                    await self._wait(
                        "not all nodes became Ready",
                        lambda: self._nodes_are_ready(phase, fresh, began),
                    )
                with progress.phase("CoreDNS"):
                    await self._wait(
                        "CoreDNS did not resolve the Service `kubernetes`", self._dns_resolves
                    )
        finally:
            await self._client.close()

    async def _apply(self, image: asyncio.Task[None]) -> None:
        """Apply all objects; CoreDNS after its image, or the kubelet would back off."""
        specs = nodefiles.node_specs(self._instance)
        nodes = [
            manifests.node(spec, roles=nodefiles.roles(spec, self._instance)) for spec in specs
        ]
        await asyncio.gather(*(self._apply_one(each) for each in nodes))
        dns = manifests.coredns(
            self._subnets, image=self._images[artifacts.COREDNS], node_name=specs[0].name
        )
        enforcer = policies.access() if self._instance.network_policies else []
        await image
        await asyncio.gather(
            *(self._apply_one(each) for each in [manifests.storage_class(), *enforcer, *dns])
        )

    async def _apply_one(self, desired: Desired) -> None:
        body = {
            "apiVersion": desired.kind.api_version,
            "kind": desired.kind.kind,
            **desired.body,
        }
        await self._client.apply(desired.kind, body, manager=MANAGER)

    async def _load_image(self) -> None:
        first = self._state_dir.node_processes()[0]
        archive = self._state_dir.images / f"{artifacts.COREDNS}.tar"

        async def is_listening() -> bool:
            return first.pid() is not None and containerd.socket(first).exists()

        await self._wait("containerd did not start", is_listening)
        await asyncio.to_thread(containerd.import_image, first, archive)

    async def _nodes_are_ready(
        self, phase: phases.Phase, fresh: set[str], began: datetime
    ) -> bool:
        nodes = [
            await self._get(kubernetes.NODE, Key("", spec.name))
            for spec in nodefiles.node_specs(self._instance)
        ]
        ready = [node for node in nodes if readiness.is_true(node, "Ready")]
        counted = [
            node
            for node in ready
            if node["metadata"]["name"] not in fresh or await self._reported(node, began)
        ]
        phase.detail(f"{len(counted)}/{len(nodes)}")
        phase.result(phase.latest)
        return len(counted) == len(nodes)

    async def _reported(self, node: Object, since: datetime) -> bool:
        """Whether the kubelet reported after `since`; Ready may be stale from before a crash."""
        meta = node["metadata"]
        lease = await self._get(kubernetes.LEASE, Key(_LEASES, meta["name"]))
        # The first Lease of a new node comes late, but its Node cannot be stale.
        times = (meta["creationTimestamp"], lease.get("spec", {}).get("renewTime"))
        return any(moment and parse_timestamp(moment) >= since for moment in times)

    async def _get(self, kind: Any, key: Key) -> Object:
        try:
            return await self._client.get(kind, key)
        except (api_errors.NotFound, api_errors.Unreachable):
            return {}

    async def _dns_resolves(self) -> bool:
        return await asyncio.to_thread(dnsquery.resolves, _DNS_NAME, server=self._subnets.dns)

    async def _wait(self, failure: str, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait for a condition; on timeout or without a supervisor fail with an excerpt of the logs."""

        async def holds() -> bool:
            self._check_supervisor(failure)
            return await condition()

        try:
            await waiting.wait_until(
                holds, within=TIMEOUT, interval=POLL_SECONDS, clock=self._clock
            )
        except TimeoutError as error:
            raise self._failure(f"{failure} within {TIMEOUT.total_seconds():.0f} s") from error

    def _check_supervisor(self, failure: str) -> None:
        """Fail early if the supervisor is not running; it gets SUPERVISOR_SECONDS to start."""
        if pidfile.running(self._state_dir.directory / supervisor.PID_FILE) is not None:
            self._supervised_until = self._clock.monotonic()
        elif self._clock.monotonic() - self._supervised_until > SUPERVISOR_SECONDS:
            raise self._failure(f"{failure}: the supervisor is not running")

    def _failure(self, what: str) -> errors.LabError:
        return errors.LabError(
            f"{what}\n{logs.excerpt(self._logs())}",
            hint=f"read the logs in {self._state_dir.directory}/nodes/*/log; "
            "`cobalt up` resumes, `cobalt down` stops the lab",
        )

    def _logs(self) -> list[Path]:
        names = ("init", "etcd", "kube-apiserver", "containerd", "kubelet", "kube-proxy")
        found = [self._state_dir.logs / "supervisor.log"]
        for node in self._state_dir.node_processes():
            found += [node.logs / f"{name}.log" for name in names]
        return found
