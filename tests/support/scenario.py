"""The life of one sample as a user causes it, and what must be true after each act."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.support import sample
from tests.support.operating import read
from tests.support.sample import CONFIG_MAP, DEPLOYMENT, SAMPLE, SECRET

Check = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Life:
    """One sample from its making to its end."""

    client: Client
    namespace: str
    ledger: str
    name: str = "one"

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    async def create(self) -> None:
        secret = {
            "metadata": {
                "name": "input",
                "namespace": self.namespace,
                "labels": {"tests.c5c3.io/sample": self.name},
            },
            "data": {},
        }
        await self.client.create(SECRET, {"apiVersion": "v1", "kind": "Secret", **secret})
        spec = {"message": "hello", "replicas": 1, "feature": True, "secret": "input"}
        await self.client.create(SAMPLE, sample.a_sample(self.name, self.namespace, **spec))

    async def is_created(self) -> bool:
        return (
            await self._message() == "hello"
            and await self._feature()
            and await self._replicas() == 1
            and await self._recorded() == "1"
            and await self._reported()
        )

    async def change(self) -> None:
        patch = {"spec": {"message": "bye", "replicas": 2, "feature": False}}
        await self.client.patch(SAMPLE, self.key, patch)

    async def is_changed(self) -> bool:
        return (
            await self._message() == "bye"
            and not await self._feature()
            and await self._replicas() == 2
            and await self._recorded() == "2"
            and await self._reported()
        )

    async def end(self) -> None:
        await self.client.delete(SAMPLE, self.key)

    async def is_ended(self) -> bool:
        return await read(self.client, SAMPLE, self.key) is None and await self._recorded() == ""

    async def _message(self) -> str:
        found = await read(self.client, CONFIG_MAP, Key(self.namespace, f"{self.name}-message"))
        return str(found["data"]["message"]) if found else ""

    async def _feature(self) -> bool:
        key = Key(self.namespace, f"{self.name}-feature")
        return await read(self.client, CONFIG_MAP, key) is not None

    async def _replicas(self) -> int:
        found = await read(self.client, DEPLOYMENT, Key(self.namespace, f"{self.name}-main"))
        return int(found["spec"]["replicas"]) if found else -1

    async def _recorded(self) -> str:
        key = Key(self.ledger, f"{self.namespace}-{self.name}")
        found = await read(self.client, CONFIG_MAP, key)
        return str(found["data"]["replicas"]) if found else ""

    async def _reported(self) -> bool:
        try:
            found = await self.client.get(SAMPLE, self.key)
        except errors.NotFound:
            return False
        status = found.get("status") or {}
        ready = [c["status"] for c in status.get("conditions", [])]
        return (
            ready == ["True"] and status["observedGeneration"] == found["metadata"]["generation"]
        )
