"""Events on objects, said once: repetitions are counted and written at most every few minutes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cobaltcore.runtime import diff, errors, log
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object, key_of

EVENT = Kind("events.k8s.io", "v1", "Event", "events")
EventType = Literal["Normal", "Warning"]
REPEAT_EVERY = timedelta(minutes=5)
FORGET_AFTER = timedelta(hours=1)
NOTE_LIMIT = 1024

_log = log.get("events")


@dataclass(slots=True)
class _Said:
    key: Key
    written: datetime
    count: int = 1


class Recorder:
    """Writes events in the name of one controller."""

    def __init__(
        self, cluster: Cluster, *, component: str, instance: str, clock: Clock | None = None
    ) -> None:
        self._cluster = cluster
        self._component = component
        self._instance = instance
        self._clock = clock or SystemClock()
        self._said: dict[str, _Said] = {}

    async def normal(
        self, obj: Object, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Tell something that went as it should."""
        await self._tell(obj, "Normal", reason, note, action)

    async def warning(
        self, obj: Object, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Tell something that a person may have to look at."""
        await self._tell(obj, "Warning", reason, note, action)

    async def _tell(
        self, obj: Object, type_: EventType, reason: str, note: str, action: str
    ) -> None:
        now = self._clock.now()
        self._forget(now)
        fingerprint = diff.digest([obj["metadata"]["uid"], type_, reason, note])
        said = self._said.get(fingerprint)
        try:
            if said is None:
                event = self._event(obj, type_, reason, note, action, now)
                await self._cluster.client.create(EVENT, event)
                self._said[fingerprint] = _Said(key_of(event), now)
            else:
                await self._repeat(said, now)
        except (errors.ApiError, errors.Unreachable) as error:
            # An event is a courtesy: the pass goes on without it.
            _log.warning("event not written", reason=reason, error=error.message)

    async def _repeat(self, said: _Said, now: datetime) -> None:
        said.count += 1
        if now - said.written < REPEAT_EVERY:
            return
        said.written = now
        series = {"count": said.count, "lastObservedTime": _micro(now)}
        await self._cluster.client.patch(EVENT, said.key, {"series": series})

    def _event(
        self, obj: Object, type_: EventType, reason: str, note: str, action: str, now: datetime
    ) -> Object:
        meta = obj["metadata"]
        regarding = {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "name": meta["name"],
            "namespace": meta.get("namespace", ""),
            "uid": meta["uid"],
        }
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "name": f"{meta['name']}.{int(now.timestamp() * 1e9):x}",
                "namespace": meta.get("namespace") or "default",
            },
            "eventTime": _micro(now),
            "type": type_,
            "reason": reason,
            "note": note[:NOTE_LIMIT],
            "action": action,
            "regarding": regarding,
            "reportingController": self._component,
            "reportingInstance": self._instance,
        }

    def _forget(self, now: datetime) -> None:
        old = [k for k, said in self._said.items() if now - said.written > FORGET_AFTER]
        for fingerprint in old:
            del self._said[fingerprint]


def _micro(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
