"""A service that exists only here comes up like every other one."""

import asyncio
import inspect

from cobaltcore.api import crd
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DEPLOYMENT, SECRET
from cobaltcore.engine.context import Context
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Object
from tests.support import openstack, throwaway
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, transport


def a_kettle(namespace: str) -> Object:
    return {
        "apiVersion": throwaway.KIND.api_version,
        "kind": "Kettle",
        "metadata": {"name": "kettle", "namespace": namespace},
        "spec": {
            "image": {"repository": "example.com/kettle", "tag": "1"},
            "database": {"database": "kettle", "secretRef": {"name": "kettle-db"}},
            "keystone": {
                "authUrl": "https://keystone:5000/v3",
                "appCredentialRef": {"secretName": "kettle-login"},
            },
        },
    }


def test_it_is_short() -> None:
    assert len(inspect.getsource(throwaway).splitlines()) < 60


async def test_it_comes_up(plane: ControlPlaneHarness, client: Client, space: str) -> None:
    plane.install_crds([crd.manifest(throwaway.Kettle.definition)])
    for name in ("kettle-db", "kettle-login"):
        await client.create(SECRET, openstack.a_secret(Key(space, name)))
    await client.create(throwaway.KIND, a_kettle(space))
    wire = Client(transport(plane, "kettle-operator"))
    cluster = Cluster(wire)
    controller = Reconciler(ServicePlanner(throwaway.SERVICE), Context(cluster, "test")).controller
    task = asyncio.ensure_future(Manager({"local": cluster}, [controller]).run())
    try:
        await eventually(lambda: _is_ready(client, space), "the kettle is Ready")
    finally:
        task.cancel()
        await asyncio.wait({task})
        await wire.close()
    found = await client.get(DEPLOYMENT, Key(space, "kettle-api"))
    volumes = found["spec"]["template"]["spec"]["volumes"]
    name = next(v["configMap"]["name"] for v in volumes if v["name"] == "config")
    config = await client.get(CONFIG_MAP, Key(space, name))
    assert "degrees = 100" in config["data"]["kettle.conf"]


async def _is_ready(client: Client, space: str) -> bool:
    found = await client.get(throwaway.KIND, Key(space, "kettle"))
    reported = (found.get("status") or {}).get("conditions") or [{}]
    return bool(reported[0].get("type") == "Ready" and reported[0]["status"] == "True")
