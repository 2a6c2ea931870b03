"""500 hostile objects of all kinds pass or fail admission; every operator continues.

What is accepted ends in a condition, and objects of others are reconciled meanwhile.
"""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from cobaltcore.api import base, crd
from cobaltcore.engine import registry
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, Object
from tests.support import objects, services
from tests.support.control_plane import ControlPlaneHarness, HttpError
from tests.support.hostile import Hostile
from tests.support.operating import eventually, transport
from tests.support.services import serving

SEED = 20
COUNT = 500
REFUSED = (400, 403, 404, 405, 409, 422)
KUBERNETES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("v1", "secrets", "Secret", {"data": {"password": "/w=="}}),
    ("v1", "configmaps", "ConfigMap", {"binaryData": {"policy.yaml": "/w=="}}),
    ("v1", "services", "Service", {"spec": {"ports": [{"port": 1}]}}),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim", {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}),
    ("v1", "pods", "Pod", {"spec": {"containers": [{"name": "a", "image": "\u00a0"}]}}),
    ("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", {
        "addressType": "IPv4", "endpoints": []}),
    ("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", {"spec": {}}),
)  # fmt: skip


@pytest.fixture
def plane() -> Iterator[ControlPlaneHarness]:
    """An API server of its own: what is left here is in no other test's way."""
    with ControlPlaneHarness() as found:
        found.install_crds([*crd.manifests(), *services.foreign_crds()])
        yield found


def send(plane: ControlPlaneHarness, path: str, body: Object) -> bool:
    """Create an object; whether it was accepted."""
    try:
        plane.request("POST", path, body)
    except HttpError as error:
        if error.status not in REFUSED:
            raise
        return False
    return True


def create_ours(plane: ControlPlaneHarness, source: Hostile, namespace: str) -> list[Object]:
    accepted = []
    for each in itertools.islice(source.specs(), COUNT - 2 * COUNT // 5):
        each["metadata"]["namespace"] = namespace
        if send(plane, objects.collection(each), each):
            accepted.append(each)
    return accepted


def create_others(plane: ControlPlaneHarness, source: Hostile, namespace: str) -> int:
    """Kinds of Kubernetes with our labels, third-party kinds with any content."""
    accepted = 0
    for number in range(COUNT // 5):
        version, plural, kind, body = KUBERNETES[number % len(KUBERNETES)]
        prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
        found = source.labelled(kind, version, body)
        accepted += send(plane, f"{prefix}/namespaces/{namespace}/{plural}", found)
    for number in range(COUNT // 5):
        foreign = services.FOREIGN[number % len(services.FOREIGN)]
        content = {"spec": source.shape(), "status": source.shape()}
        found = source.labelled(foreign.kind, foreign.api_version, content)
        found["metadata"]["name"] = ("mariadb", "rabbitmq", "keystone", "admin")[number % 4]
        path = f"/apis/{foreign.api_version}/namespaces/{namespace}/{foreign.plural}"
        accepted += send(plane, path, found)
    return accepted


def is_reported(found: Object) -> bool:
    """Whether the operator has said something about this generation."""
    status = found.get("status") or {}
    ready = [each for each in status.get("conditions") or () if each["type"] == "Ready"]
    return bool(ready) and status["observedGeneration"] == found["metadata"]["generation"]


async def unreported(client: Client, kinds: set[Kind], namespaces: tuple[str, ...]) -> list[str]:
    found = []
    for kind in kinds:
        async for page, _ in client.list_pages(kind):
            found += [
                f"{kind.kind} {Key(each['metadata']['namespace'], each['metadata']['name'])}"
                for each in page
                if each["metadata"]["namespace"] in namespaces and not is_reported(each)
            ]
    return found


async def test_operators_survive_hostile_objects_and_report_on_each(
    plane: ControlPlaneHarness,
) -> None:
    source = Hostile(SEED)
    client = Client(transport(plane, "test-observer"))
    before, meanwhile = plane.create_namespace("before"), plane.create_namespace("meanwhile")
    every = [each.name for each in registry.operators()]
    planned = {p.kind for each in registry.operators() for p in each.planners}
    others = create_others(plane, source, before)
    accepted = create_ours(plane, source, before)
    async with serving(plane, every) as running:
        others += await asyncio.to_thread(create_others, plane, source, meanwhile)
        accepted += await asyncio.to_thread(create_ours, plane, source, meanwhile)
        left: list[str] = []

        async def all_are_reported() -> bool:
            assert not running.task.done(), "the operators ended"
            left[:] = await unreported(client, planned, (before, meanwhile))
            return not left

        try:
            await eventually(all_are_reported, "every object has a condition")
        except AssertionError as error:
            raise AssertionError(f"{error}: {left[:20]}") from error
        assert not running.task.done()
    await client.close()
    assert {each["kind"] for each in accepted} == {d.kind.kind for d in base.definitions()}
    assert len(accepted) > COUNT // 4
    assert others > COUNT // 4
