"""Objects that users may create and controllers cannot handle do not stop an operator."""

from typing import Any

import pytest

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Object
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, operating, transport
from tests.support.sample import SAMPLE, SECRET, a_sample
from tests.support.scenario import Life

ODD = "\u00a0\u2028\ufeff\U0001f4a5"


def nested(depth: int) -> Object:
    spec: Object = {}
    for _ in range(depth):
        spec = {"a": spec}
    return spec


def samples(namespace: str) -> list[Object]:
    specs: list[Any] = [None, {"secret": ["a"]}, {"secret": {}}, {"replicas": ODD}, nested(900)]
    found = [a_sample(f"odd-{number}", namespace) for number, _ in enumerate(specs)]
    for each, spec in zip(found, specs, strict=True):
        each["spec"] = spec
    del found[0]["spec"]
    found[1]["metadata"] |= {
        "annotations": {"a": ODD * 1000},
        "finalizers": ["example.com/never"],
        "ownerReferences": [{"apiVersion": "a/b", "kind": ODD, "name": ODD, "uid": ODD}],
    }
    return found


@pytest.mark.parametrize("already_there", [True, False])
async def test_operator_works_next_to_objects_that_it_cannot_handle(
    control_plane: ControlPlaneHarness,
    client: Client,
    namespace: str,
    ledger: str,
    *,
    already_there: bool,
) -> None:
    life = Life(client, namespace, ledger)

    async def create() -> None:
        for each in samples(namespace):
            await client.create(SAMPLE, each)
        labels = {"app.kubernetes.io/name": "c5c3", "tests.c5c3.io/sample": ""}
        secret = {"name": "odd", "namespace": namespace, "labels": labels}
        await client.create(SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": secret})

    if already_there:
        await create()
    wire = transport(control_plane, "hostile")
    async with operating(wire, namespace=namespace, ledger=ledger) as running:
        if not already_there:
            await eventually(lambda: _ready(running), "the caches are filled")
            await create()
        await life.create()
        await eventually(life.is_created, "the sample exists")
        await life.change()
        await eventually(life.is_changed, "the change arrived")
        assert not running.crashed


async def _ready(running: Any) -> bool:
    return bool(running.manager.ready.is_set())
