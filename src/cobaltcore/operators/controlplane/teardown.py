"""A control plane that goes: nothing goes before what needs it, and nobody waits for ever."""

from datetime import timedelta

from cobaltcore.api.controlplane import KIND
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc
from cobaltcore.engine import graph
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.clock import Clock, parse_timestamp
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.events import Recorder
from cobaltcore.runtime.meta import Key, Kind, Object

FINALIZER = "c5c3.io/teardown"
FIRST = frozenset({ROTATION})
"""Kinds that go before the rest of their part: an application credential is removed by the user that
it is for, who must still be there and have its roles."""
LIMIT = timedelta(minutes=5)
"""After this long what does not go is left behind, and named."""


class Teardown:
    """Removes the children of control planes in order."""

    def __init__(self, cluster: Cluster, clock: Clock, events: Recorder) -> None:
        self._cluster = cluster
        self._clock = clock
        self._events = events

    async def step(self, live: Object, view: View) -> timedelta | None:
        """Remove what may go now; the finalizer goes with the last of it."""
        left = await self._remove(live, view)
        if not left:
            kept = self._kept(view)
            if kept:
                text = f"kept: {', '.join(kept)}"
                await self._events.normal(live, "DataKept", text)
            await finalizers.remove(self._cluster, KIND, live, FINALIZER)
            return None
        since = self._clock.now() - parse_timestamp(live["metadata"]["deletionTimestamp"])
        if since < LIMIT:
            return LIMIT - since
        await self._give_up(live, left)
        return None

    async def _remove(self, live: Object, view: View) -> list[tuple[Kind, Key]]:
        """Go from what nobody needs to what all need; stop at the first part that is still there."""
        going: list[tuple[Kind, Key]] = []
        waits: set[str] = set()
        for node in graph.teardown(PARTS):
            if node.name in waits:
                waits |= set(node.needs)
                continue
            present = [
                (each.kind, each.key)
                for each in node.objects(view)
                if not each.kept and self._is_owned(each.kind, each.key, live)
            ]
            first = [(kind, key) for kind, key in present if kind in FIRST]
            for kind, key in first or present:
                await self._delete(kind, key)
            if present:
                going += present
                waits |= set(node.needs)
        return going

    def _is_owned(self, kind: Kind, key: Key, live: Object) -> bool:
        found = self._cluster.informer(kind).get(key)
        references = ((found or {}).get("metadata") or {}).get("ownerReferences") or ()
        return any(each["uid"] == live["metadata"]["uid"] for each in references)

    def _kept(self, view: View) -> list[str]:
        made = [each for node in PARTS if node.when(view) for each in node.objects(view)]
        return sorted(
            f"{each.kind.kind} {each.key.name}"
            for each in made
            if each.kept and self._cluster.informer(each.kind).get(each.key) is not None
        )

    async def _delete(self, kind: Kind, key: Key) -> None:
        found = self._cluster.informer(kind).get(key)
        if found is not None and not found["metadata"].get("deletionTimestamp"):
            uid = found["metadata"]["uid"]
            await self._cluster.client.delete(kind, key, uid=uid, propagation="Foreground")

    async def _give_up(self, live: Object, left: list[tuple[Kind, Key]]) -> None:
        """Say what stays, let go of what only Keystone could confirm, and end."""
        named = ", ".join(f"{kind.kind} {key.name}" for kind, key in left)
        minutes = int(LIMIT.total_seconds() // 60)
        text = f"not gone after {minutes} minutes, left behind: {named}"
        await self._events.warning(live, "TeardownIncomplete", text)
        for kind, key in left:
            if kind.group == korc.USER.group:
                detach = {"spec": {"managedOptions": {"onDelete": "detach"}}}
                await self._cluster.client.patch(kind, key, detach)
        await finalizers.remove(self._cluster, KIND, live, FINALIZER)
