"""Events on objects, de-duplicated: repetitions are counted and written every few minutes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cobaltcore.runtime import diff, errors, log
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object, key_of
from cobaltcore.runtime.text import shortened

EVENT = Kind("events.k8s.io", "v1", "Event", "events")
EventType = Literal["Normal", "Warning"]
REPEAT_EVERY = timedelta(minutes=5)
FORGET_AFTER = timedelta(hours=1)
NOTE_LIMIT = 1024

_log = log.get("events")


@dataclass(slots=True)
class _Series:
    key: Key
    written: datetime
    count: int = 1


class Recorder:
    """Records events of one controller."""

    def __init__(
        self, cluster: Cluster, *, component: str, instance: str, clock: Clock | None = None
    ) -> None:
        self._cluster = cluster
        self._component = component
        self._instance = instance
        self._clock = clock or SystemClock()
        self._series: dict[str, _Series] = {}

    async def normal(
        self, obj: Object, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Record something that works as intended."""
        await self._record(obj, "Normal", reason, note, action)

    async def warning(
        self, obj: Object, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Record something that a person may have to look at."""
        await self._record(obj, "Warning", reason, note, action)

    async def _record(
        self, obj: Object, type_: EventType, reason: str, note: str, action: str
    ) -> None:
        now = self._clock.now()
        self._forget(now)
        fingerprint = diff.digest([obj["metadata"]["uid"], type_, reason, note])
        series = self._series.get(fingerprint)
        try:
            if series is None:
                event = self._event(obj, type_, reason, note, action, now)
                await self._cluster.client.create(EVENT, event)
                self._series[fingerprint] = _Series(key_of(event), now)
            else:
                await self._repeat(series, now)
        except (errors.ApiError, errors.Unreachable) as error:
            # Events are best effort: the reconcile continues without them.
            _log.warning("event not written", reason=reason, error=error.message)

    async def _repeat(self, series: _Series, now: datetime) -> None:
        series.count += 1
        if now - series.written < REPEAT_EVERY:
            return
        series.written = now
        patch = {"series": {"count": series.count, "lastObservedTime": _micro(now)}}
        await self._cluster.client.patch(EVENT, series.key, patch)

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
            "note": shortened(note, NOTE_LIMIT),
            "action": action,
            "regarding": regarding,
            "reportingController": self._component,
            "reportingInstance": self._instance,
        }

    def _forget(self, now: datetime) -> None:
        old = [k for k, each in self._series.items() if now - each.written > FORGET_AFTER]
        for fingerprint in old:
            del self._series[fingerprint]


def _micro(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
