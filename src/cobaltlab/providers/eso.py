"""External Secrets Operator for the lab: stores, ExternalSecret and PushSecret.

Backends of stores are the table BACKENDS; the rest of the provider knows none of them.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    EXTERNAL_SECRET,
    PUSH_SECRET,
    SECRET_STORE,
    SecretStoreStatus,
)
from cobaltcore.api.foreign.kubernetes import NAMESPACE, SECRET
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.providers import durations, eso_kubernetes
from cobaltlab.providers.eso_external import ExternalSecretReconciler
from cobaltlab.providers.eso_push import PushSecretReconciler
from cobaltlab.providers.eso_stores import Backend, StoreError, Stores
from cobaltlab.providers.failures import Failure
from cobaltlab.providers.provider import Context, Provider
from cobaltlab.providers.reconciler import Reconciler, is_deleting

BACKENDS: Mapping[str, Backend] = {"kubernetes": eso_kubernetes.open_store}
CAPABILITIES = "ReadWrite"
VALID = Condition(type="Ready", status="True", reason="Valid", message="store validated")


class StoreReconciler(Reconciler):
    """Reports for one kind of stores whether they can be used."""

    failed_reason = "ValidationFailed"
    observes_generation = False

    def __init__(self, context: Context, kind: Kind, stores: Stores) -> None:
        self._stores = stores
        super().__init__(context, kind, [Source(kind, itself), Source(NAMESPACE, self._all)])

    async def apply(self, live: Object) -> timedelta | None:
        interval = _revalidation(live)
        try:
            await self._stores.store(live).validate()
        except StoreError as error:
            error.after = error.after or interval
            raise
        after = SecretStoreStatus(conditions=self.merged(live, [VALID]), capabilities=CAPABILITIES)
        await self.write_status(live, after)
        return interval

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        status = {**(live.get("status") or {}), "capabilities": CAPABILITIES}
        return await super().report_failure({**live, "status": status}, failure)

    def _all(self, change: Change) -> Iterable[Key]:
        """A namespace was created or is deleted: any store may be in it."""
        if change.old is None or change.new is None or is_deleting(change.latest):
            for each in self._cluster.informer(self._kind).objects():
                yield key_of(each)


def _revalidation(live: Object) -> timedelta | None:
    """`spec.refreshInterval` of a store: seconds or a duration."""
    interval = (live.get("spec") or {}).get("refreshInterval")
    if not interval:
        return None
    try:
        if isinstance(interval, int):
            return timedelta(seconds=interval)
        return durations.parse(interval)
    except ValueError as error:
        raise StoreError(f"spec.refreshInterval: {error}") from error


def _controllers(context: Context) -> Iterable[Controller]:
    stores = Stores(context.cluster, BACKENDS)
    yield StoreReconciler(context, SECRET_STORE, stores).controller
    yield StoreReconciler(context, CLUSTER_SECRET_STORE, stores).controller
    yield ExternalSecretReconciler(context, stores).controller
    yield PushSecretReconciler(context, stores).controller


PROVIDER = Provider(
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
    manages=(SECRET,),
)
