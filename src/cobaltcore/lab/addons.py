"""From started nodes to a cluster that is of use: API server, add-ons, Ready nodes, names."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cobaltcore.api.foreign import kubernetes
from cobaltcore.engine import conditioned
from cobaltcore.lab import (
    artefacts,
    containers,
    dnsquery,
    errors,
    home,
    kernel,
    layout,
    logs,
    manifests,
    memories,
    nodeconfig,
    phases,
    ranges,
    record,
    supervisor,
)
from cobaltcore.runtime import clock, kubeconfig
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Desired, Key, Object
from cobaltcore.runtime.transport import HttpTransport

MANAGER = "cobalt-lab"
LIMIT = timedelta(minutes=3)
SUPERVISOR_SECONDS = 20.0
POLL_SECONDS = 0.1

_LEASES = "kube-node-lease"
_DNS_NAME = f"kubernetes.default.svc.{nodeconfig.DOMAIN}"


class Server:
    """The API server of an instance, and what has to be in it."""

    def __init__(
        self, place: home.Home, instance: record.Instance, images: Mapping[str, str]
    ) -> None:
        self._place = place
        self._instance = instance
        self._images = images
        self._ranges = ranges.Ranges(instance.index)
        self._clock = clock.SystemClock()
        self._supervised_until = 0.0
        connection = kubeconfig.load(place.kubeconfig, environ={})
        self._client = Client(HttpTransport(connection, agent="cobalt-up"))

    async def bring_up(self, shown: phases.Phases, *, fresh: Iterable[str]) -> None:
        """Wait for each part in turn; `fresh` nodes have to report anew to count as Ready."""
        began = datetime.now(UTC).replace(microsecond=0)
        self._supervised_until = self._clock.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                image = group.create_task(self._load_image())
                with shown.phase("API server"):
                    await self._reach("the API server did not become ready", self._api_is_ready)
                    await memories.withdraw(self._client, set(fresh))
                with shown.phase("add-ons"):
                    await self._apply(image)
                with shown.phase("Ready nodes") as phase:
                    await self._reach(
                        "not all nodes became Ready",
                        lambda: self._nodes_are_ready(phase, set(fresh), began),
                    )
                with shown.phase("name server"):
                    await self._reach("the name server did not answer", self._names_resolve)
        finally:
            await self._client.close()

    async def _api_is_ready(self) -> bool:
        try:
            await self._client.raw("/readyz")
        except (api_errors.Unreachable, api_errors.ApiError):
            return False
        return True

    async def _apply(self, image: asyncio.Task[None]) -> None:
        """Apply all objects; the image comes first, or its pod would have to wait."""
        seats = layout.seats(self._instance)
        nodes = [manifests.node(seat, roles=layout.roles(seat, self._instance)) for seat in seats]
        await asyncio.gather(*(self._apply_one(each) for each in nodes))
        server = manifests.name_server(
            self._ranges, image=self._images[artefacts.COREDNS], node_name=seats[0].name
        )
        await image
        await asyncio.gather(
            *(self._apply_one(each) for each in [manifests.storage_class(), *server])
        )

    async def _apply_one(self, desired: Desired) -> None:
        body = {
            "apiVersion": desired.kind.api_version,
            "kind": desired.kind.kind,
            **desired.body,
        }
        await self._client.apply(desired.kind, body, manager=MANAGER)

    async def _load_image(self) -> None:
        first = self._place.machines()[0]
        archive = self._place.images / f"{artefacts.COREDNS}.tar"

        async def runs() -> bool:
            return first.pid() is not None and containers.socket(first).exists()

        await self._reach("the container runtime did not start", runs)
        await asyncio.to_thread(containers.load, first, archive)

    async def _nodes_are_ready(
        self, phase: phases.Phase, fresh: set[str], began: datetime
    ) -> bool:
        nodes = [
            await self._get(kubernetes.NODE, Key("", seat.name))
            for seat in layout.seats(self._instance)
        ]
        ready = [node for node in nodes if conditioned.is_true(node, "Ready")]
        counted = [
            node
            for node in ready
            if node["metadata"]["name"] not in fresh or await self._reported(node, began)
        ]
        phase.detail(f"{len(counted)}/{len(nodes)}")
        phase.result(phase.latest)
        return len(counted) == len(nodes)

    async def _reported(self, node: Object, since: datetime) -> bool:
        """Whether the kubelet has spoken lately; Ready may be a memory of before a crash."""
        meta = node["metadata"]
        lease = await self._get(kubernetes.LEASE, Key(_LEASES, meta["name"]))
        # The first lease of a new node comes late; its Node cannot be a memory.
        moments = (meta["creationTimestamp"], lease.get("spec", {}).get("renewTime"))
        return any(moment and clock.parse_timestamp(moment) >= since for moment in moments)

    async def _get(self, kind: Any, key: Key) -> Object:
        try:
            return await self._client.get(kind, key)
        except (api_errors.NotFound, api_errors.Unreachable):
            return {}

    async def _names_resolve(self) -> bool:
        return await asyncio.to_thread(dnsquery.resolves, _DNS_NAME, server=self._ranges.dns)

    async def _reach(self, failure: str, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait for a condition; tell what the logs say after the limit, or if nobody works on it."""
        try:
            async with asyncio.timeout(LIMIT.total_seconds()):
                while not await condition():
                    await self._clock.sleep(POLL_SECONDS)
                    self._check_supervisor(failure)
        except TimeoutError as error:
            raise self._failure(f"{failure} within {LIMIT.total_seconds():.0f} s") from error

    def _check_supervisor(self, failure: str) -> None:
        """Fail early if the one who starts everything has ended; at first it takes a moment."""
        if kernel.recall(self._place.directory / supervisor.PID_FILE) is not None:
            self._supervised_until = self._clock.monotonic()
        elif self._clock.monotonic() - self._supervised_until > SUPERVISOR_SECONDS:
            raise self._failure(f"{failure}: the supervisor has ended")

    def _failure(self, what: str) -> errors.LabError:
        return errors.LabError(
            f"{what}\n{logs.excerpt(self._logs())}",
            hint=f"all logs are in {self._place.directory}/nodes/*/log; "
            "`cobalt up` goes on from here, `cobalt down` stops everything",
        )

    def _logs(self) -> list[Path]:
        names = ("init", "etcd", "kube-apiserver", "containerd", "kubelet", "kube-proxy")
        found = [self._place.logs / "supervisor.log"]
        for node in self._place.machines():
            found += [node.logs / f"{name}.log" for name in names]
        return found
