"""A Ceph that answers as the real one does, and outlives the provider that asks it.

Only the seam `cobaltlab.ceph.commands.Ceph` is simulated; end-to-end tests run the real one.
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Object, WatchScope, key_of
from cobaltlab.ceph.commands import (
    NO_WAIT,
    Ceph,
    CephUnreachable,
    Request,
    Response,
    Result,
    Until,
)
from cobaltlab.providers import rook
from cobaltlab.providers.provider import Context, Provider
from tests.support.faults import Crash, CrashPoint

IMAGE = "example.org/ceph:16.2"


@dataclass
class SimulatedCeph:
    """The state of one cluster: pools with their images, users, settings."""

    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    images: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[tuple[str, str], str] = field(default_factory=dict)
    health: str = "HEALTH_OK"
    up: bool = True
    silent: bool = False
    asked: int = 0
    crash: CrashPoint = field(default_factory=CrashPoint)

    async def execute(
        self,
        namespace: str,
        requests: Sequence[Request],
        *,
        until: Until = "",
        wait_for: timedelta = NO_WAIT,
    ) -> Response:
        self.asked += 1
        dies = self.crash.when if self.asked == self.crash.call else None
        if dies == "before":
            raise Crash
        if self.silent:
            raise CephUnreachable("Ceph does not answer")
        await asyncio.sleep(0)
        report = Response(status=self.status(), results=self._answers(requests, until))
        if dies == "after":
            raise Crash
        return report

    def status(self) -> dict[str, Any]:
        number = int(self.up)
        states = [{"state_name": "active+clean", "count": 8}] if self.up else []
        return {
            "health": {"status": self.health, "checks": {}},
            "mgrmap": {"available": True},
            "osdmap": {"num_osds": number, "num_up_osds": number, "num_in_osds": number},
            "pgmap": {
                "pgs_by_state": states,
                "bytes_total": 10,
                "bytes_used": 1,
                "bytes_avail": 9,
            },
        }

    def _answers(self, requests: Sequence[Request], until: Until) -> list[Result]:
        answers: list[Result] = []
        for request in requests if self.up or not until else ():
            answers.append(self._answer(request))
            if answers[-1].code:
                break
        return answers

    def _answer(self, request: Request) -> Result:
        if "images" in request:
            return self._of_images(request)
        command = request["command"]
        carry_out = getattr(self, "_" + command["prefix"].replace(" ", "_").replace("-", "_"))
        found: Result = carry_out(command)
        return found

    def _of_images(self, request: Request) -> Result:
        pool = self.pools.get(request["pool"])
        if pool is None:
            return _refused(errno.ENOENT)
        if request["images"] == "init":
            pool["application_metadata"] = {"rbd": {}}
            return Result(code=0)
        return Result(code=0, output=self.images.get(request["pool"], []))

    def _version(self, _: Request) -> Result:
        return Result(code=0, output={"version": "ceph version 16.2.15 (618f44) pacific"})

    def _config_set(self, command: Request) -> Result:
        self.settings[command["who"], command["name"]] = command["value"]
        return Result(code=0)

    def _osd_pool_create(self, command: Request) -> Result:
        name = command["pool"]
        new = {"pool_name": name, "pool_id": len(self.pools) + 1, "pg_num": command["pg_num"]}
        self.pools.setdefault(name, new)
        return Result(code=0)

    def _osd_pool_ls(self, _: Request) -> Result:
        return Result(code=0, output=list(self.pools.values()))

    def _osd_pool_set_quota(self, command: Request) -> Result:
        self.pools[command["pool"]][f"quota_{command['field']}"] = int(command["val"])
        return Result(code=0)

    def _osd_pool_set(self, command: Request) -> Result:
        if command["var"] == "nonsense":
            return _refused(errno.EINVAL, "invalid variable: 'nonsense'")
        options = self.pools[command["pool"]].setdefault("options", {})
        options[command["var"]] = command["val"]
        return Result(code=0)

    def _osd_pool_delete(self, command: Request) -> Result:
        self.pools.pop(command["pool"], None)
        return Result(code=0)

    def _auth_get_or_create(self, command: Request) -> Result:
        entity, caps = command["entity"], _caps(command["caps"])
        known = self.users.setdefault(entity, {"key": f"key-of-{entity}", "caps": caps})
        if known["caps"] != caps:
            return _refused(errno.EINVAL, f"key for {entity} exists but cap mon does not match")
        return Result(code=0, output=[{"entity": entity, **known}])

    def _auth_caps(self, command: Request) -> Result:
        self.users[command["entity"]]["caps"] = _caps(command["caps"])
        return Result(code=0)

    def _auth_get(self, command: Request) -> Result:
        return Result(code=0, output=[self.users[command["entity"]]])

    def _auth_rm(self, command: Request) -> Result:
        self.users.pop(command["entity"], None)
        return Result(code=0)


def provider(ceph: Ceph) -> Provider:
    """The provider, asking `ceph`."""

    def controllers(context: Context) -> list[Controller]:
        simulated = Context(context.cluster, context.instance, {"ceph": IMAGE}, context.clock)
        return list(rook.controllers(simulated, ceph=ceph))

    return Provider(rook.PROVIDER.name, rook.PROVIDER.kinds, controllers)


@asynccontextmanager
async def simulated_deployments(client: Client, namespace: str) -> AsyncIterator[None]:
    """Make Deployments of a namespace available and let them go, without any pods."""
    task = asyncio.ensure_future(_simulate(client, namespace))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _simulate(client: Client, namespace: str) -> None:
    while True:
        async for found, _ in client.list_pages(DEPLOYMENT, WatchScope(namespace)):
            for each in found:
                try:
                    await _settle(client, each)
                except (errors.Conflict, errors.NotFound):
                    continue
        await asyncio.sleep(0.05)


async def _settle(client: Client, deployment: Object) -> None:
    meta = deployment["metadata"]
    if meta.get("deletionTimestamp"):
        await client.patch(DEPLOYMENT, key_of(deployment), {"metadata": {"finalizers": []}})
        return
    counts = dict.fromkeys(
        ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1
    )
    status = {"observedGeneration": meta["generation"], **counts}
    if deployment.get("status") != status:
        patch = {"status": status}
        await client.patch(DEPLOYMENT, key_of(deployment), patch, subresource="status")


def _caps(words: Sequence[str]) -> dict[str, str]:
    return dict(zip(words[::2], words[1::2], strict=True))


def _refused(number: int, message: str = "") -> Result:
    return Result(code=-number, message=message)
