"""SecretAggregate: keys of several Secrets in one. Pure."""

from collections.abc import Iterable

import msgspec

from cobaltcore.api.credentials import (
    SecretAggregate,
    SecretAggregateSpec,
    SecretAggregateStatus,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine import watches
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.planner import Child, Planner
from cobaltcore.engine.scope import Scope
from cobaltcore.engine.verdict import Ready, Verdict, Waiting, condition
from cobaltcore.engine.watches import CONTENT
from cobaltcore.operators.credentials.merge import Merged, merge
from cobaltcore.runtime.meta import Desired, Key, Kind
from cobaltcore.runtime.timestamps import timestamp

AggregateScope = Scope[SecretAggregateSpec, SecretAggregateStatus]

SOURCES_RESOLVED = "SourcesResolved"
SOURCES_AVAILABLE = "AllSourcesAvailable"
SOURCES_MISSING = "SourcesMissing"


class AggregatePlanner(Planner[AggregateScope]):
    """Writes the target if all sources exist; the last good one stays if not."""

    name = "secretaggregate"
    manager = "secret-aggregate-controller"
    resource = SecretAggregate
    scope = AggregateScope
    children = (Child(SECRET, CONTENT, pruned=False),)
    watches = (watches.referenced(SECRET, CONTENT),)

    def references(self, key: Key, spec: SecretAggregateSpec) -> Iterable[tuple[Kind, Key]]:
        for source in spec.sources:
            yield SECRET, Key(key.namespace, source.secret_ref.name)

    def contents(self, scope: AggregateScope) -> Iterable[tuple[Kind, Key]]:
        return self.references(scope.key, scope.spec)

    def plan(self, scope: AggregateScope) -> Plan[SecretAggregateStatus]:
        sources = {
            source.secret_ref.name: scope.observed.content(
                SECRET, scope.sibling(source.secret_ref.name)
            )
            for source in scope.spec.sources
        }
        merged = merge(scope.spec, sources)
        verdict = _verdict(merged)
        status = scope.status or SecretAggregateStatus()
        if scope.changes is not None and scope.changes.changed:
            status = msgspec.structs.replace(status, last_aggregated=timestamp(scope.now))
        return Plan(
            verdict=verdict,
            conditions=[condition(SOURCES_RESOLVED, verdict)],
            status=status,
            objects=[] if merged.problems else [_target(scope, merged)],
        )


def _verdict(merged: Merged) -> Verdict:
    if merged.problems:
        return Waiting(SOURCES_MISSING, "; ".join(merged.problems))
    return Ready(SOURCES_AVAILABLE)


def _target(scope: AggregateScope, merged: Merged) -> Desired:
    meta = {"name": scope.spec.target.name, "namespace": scope.namespace}
    return Desired(SECRET, {"metadata": meta, "type": "Opaque", "data": merged.data})
