"""External Secrets Operator for the lab: stores, ExternalSecret and PushSecret.

The systems behind stores are the table BACKENDS; the rest of the provider knows none of them.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    EXTERNAL_SECRET,
    PUSH_SECRET,
    SECRET_STORE,
    SecretStoreStatus,
)
from cobaltcore.api.foreign.kubernetes import NAMESPACE, SECRET
from cobaltcore.lab.providers import durations, eso_kubernetes, provider
from cobaltcore.lab.providers import eso_content as content
from cobaltcore.lab.providers.eso_external import Fetching
from cobaltcore.lab.providers.eso_push import Pushing
from cobaltcore.lab.providers.eso_stores import Backend, StoreProblem, Stores
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, key_of
from cobaltcore.runtime.store import Change

BACKENDS: Mapping[str, Backend] = {"kubernetes": eso_kubernetes.open_store}
VALID = Condition(type="Ready", status="True", reason="Valid", message="store validated")


class StoreReadiness:
    """Reports for one kind of stores whether they can be used."""

    def __init__(self, setting: provider.Setting, kind: Kind, stores: Stores) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._kind = kind
        self._stores = stores
        self.controller = Controller(
            kind.kind.lower(),
            self.reconcile,
            [Source(kind, itself), Source(NAMESPACE, self._all)],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Say whether the store can be used."""
        live = self._cluster.informer(self._kind).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        ready, again = VALID, None
        try:
            again = _revalidation(live)
            await self._stores.store(live).validate()
        except StoreProblem as problem:
            again = problem.retry or again
            ready = Condition(
                type="Ready", status="False", reason=problem.reason, message=problem.message
            )
        before = manifest.status_of(live, SecretStoreStatus)
        merged = conditions.merge(before.conditions, [ready], now=self._clock.now(), generation=0)
        after = SecretStoreStatus(
            conditions=[content.plain(each) for each in merged], capabilities="ReadWrite"
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, self._kind, live, built, manager=provider.MANAGER)
        return again

    def _all(self, change: Change) -> Iterable[Key]:
        """A namespace came or goes: any store may be in it."""
        ends = change.latest["metadata"].get("deletionTimestamp")
        if change.old is None or change.new is None or ends:
            for each in self._cluster.informer(self._kind).objects():
                yield key_of(each)


def _revalidation(live: Object) -> timedelta | None:
    """`spec.refreshInterval` of a store: seconds or a duration."""
    given = (live.get("spec") or {}).get("refreshInterval")
    if not given:
        return None
    try:
        return timedelta(seconds=given) if isinstance(given, int) else durations.parse(given)
    except ValueError as error:
        raise StoreProblem(f"spec.refreshInterval: {error}") from error


def _controllers(setting: provider.Setting) -> Iterable[Controller]:
    stores = Stores(setting.cluster, BACKENDS)
    yield StoreReadiness(setting, SECRET_STORE, stores).controller
    yield StoreReadiness(setting, CLUSTER_SECRET_STORE, stores).controller
    yield Fetching(setting, stores).controller
    yield Pushing(setting, stores).controller


PROVIDER = provider.Provider(
    "eso",
    tuple(
        kind._replace(version=version)
        for kind, versions in (
            (SECRET_STORE, ("v1", "v1beta1")),
            (CLUSTER_SECRET_STORE, ("v1", "v1beta1")),
            (EXTERNAL_SECRET, ("v1", "v1beta1")),
            (PUSH_SECRET, ("v1alpha1",)),
        )
        for version in versions
    ),
    _controllers,
    makes=(SECRET,),
)
