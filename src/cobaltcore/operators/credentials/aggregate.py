"""SecretAggregate: keep a Secret equal to keys of other Secrets."""

from collections.abc import Iterable
from datetime import timedelta

import msgspec

from cobaltcore.api.credentials import (
    AGGREGATE,
    SecretAggregate,
    SecretAggregateSpec,
    SecretAggregateStatus,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.operator import Context
from cobaltcore.operators.credentials.merge import Merged, merge
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.clock import timestamp
from cobaltcore.runtime.controller import Controller, Source, owner, referrers, unless_told
from cobaltcore.runtime.meta import Condition, Desired, Key, Object, Scope
from cobaltcore.runtime.store import Change

MANAGER = "secret-aggregate-controller"
SOURCES_RESOLVED = "SourcesResolved"
SOURCES_AVAILABLE = "AllSourcesAvailable"
SOURCES_MISSING = "SourcesMissing"
TARGET_TAKEN = "TargetTaken"


class Aggregation:
    """The controller of SecretAggregates."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cluster = context.cluster
        self._applier = Applier(context.cluster, manager=MANAGER)
        self._cluster.informer(AGGREGATE).add_index("source", _sources)
        self.controller = Controller(
            "secretaggregate",
            self.reconcile,
            [
                Source(AGGREGATE, unless_told),
                Source(SECRET, self._concerned, Scope(metadata_only=True)),
            ],
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Write the target if all sources are there; the last good one stays if not."""
        live = self._cluster.informer(AGGREGATE).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        spec = msgspec.convert(live, SecretAggregate).spec
        merged = merge(spec, await self._read(key, spec))
        changed, taken = False, ""
        if not merged.problems:
            try:
                changes = await self._applier.apply([_target(key, spec, merged)], owner=live)
                changed = changes.changed
            except ForeignObject as error:
                taken = error.message
        await self._report(live, merged, taken=taken, changed=changed)
        return None

    async def _read(self, key: Key, spec: SecretAggregateSpec) -> dict[str, Object | None]:
        return {
            source.secret_ref.name: await self._cluster.read(
                SECRET, Key(key.namespace, source.secret_ref.name)
            )
            for source in spec.sources
        }

    def _concerned(self, change: Change) -> Iterable[Key]:
        yield from owner(AGGREGATE)(change)
        yield from referrers(self._cluster, AGGREGATE, "source")(change)

    async def _report(self, live: Object, merged: Merged, *, taken: str, changed: bool) -> None:
        before = msgspec.convert(live, SecretAggregate).status or SecretAggregateStatus()
        now = self._context.clock.now()
        generation = live["metadata"]["generation"]
        after = SecretAggregateStatus(
            conditions=conditions.merge(
                before.conditions, _conditions(merged, taken), now=now, generation=generation
            ),
            observed_generation=generation,
            last_aggregated=timestamp(now) if changed else before.last_aggregated,
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, AGGREGATE, live, built, manager=MANAGER)


def _sources(obj: Object) -> Iterable[str]:
    namespace = obj["metadata"]["namespace"]
    for source in obj["spec"]["sources"]:
        yield str(Key(namespace, source["secretRef"]["name"]))


def _target(key: Key, spec: SecretAggregateSpec, merged: Merged) -> Desired:
    meta = {"name": spec.target.name, "namespace": key.namespace}
    return Desired(SECRET, {"metadata": meta, "type": "Opaque", "data": merged.data})


def _conditions(merged: Merged, taken: str) -> list[Condition]:
    reason = SOURCES_MISSING if merged.problems else SOURCES_AVAILABLE
    message = "; ".join(merged.problems)
    resolved = Condition(
        type=SOURCES_RESOLVED,
        status="False" if merged.problems else "True",
        reason=reason,
        message=message,
    )
    ready = Condition(
        type="Ready",
        status="False" if merged.problems or taken else "True",
        reason=TARGET_TAKEN if taken else reason,
        message=taken or message,
    )
    return [ready, resolved]
