"""PushSecret: values of a Secret are pushed to stores.

Pushed entries are in the status, by store. They are recorded before they are written, so that a
crash leaves no entry behind that is not recorded.
"""

import base64
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple, TypeAlias

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    PUSH_SECRET,
    PushSecretData,
    PushSecretSpec,
    PushSecretStatus,
    StoreRef,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.controller import referrers
from cobaltcore.runtime.meta import Condition, Key, Object
from cobaltcore.runtime.timestamps import timestamp
from cobaltlab.providers import eso_content as content
from cobaltlab.providers.eso_stores import (
    KeyNotFound,
    OpenStore,
    Store,
    StoreError,
    Stores,
    Values,
    index_value,
)
from cobaltlab.providers.eso_sync import STORE, SyncReconciler
from cobaltlab.providers.provider import Context

FINALIZER = "pushsecret.externalsecrets.io/finalizer"
UNSUPPORTED = (
    "data[].conversionStrategy",
    "data[].metadata",
    "dataTo",
    "secretStoreRefs[].labelSelector",
    "selector.generatorRef",
    "selector.secret.selector",
    "template",
)
SYNCED = Condition(
    type="Ready", status="True", reason="Synced", message="PushSecret synced successfully"
)
Entries: TypeAlias = dict[str, dict[str, PushSecretData]]
"""By store, then by remote key and property, as in the status."""


class SourceSecret(NamedTuple):
    """The Secret that is pushed."""

    values: Values
    version: str


class PushSecretReconciler(SyncReconciler):
    """The controller of PushSecrets."""

    finalizer = FINALIZER
    failed_reason = "Errored"
    failed_event = "Errored"

    def __init__(self, context: Context, stores: Stores) -> None:
        super().__init__(
            context,
            PUSH_SECRET,
            stores,
            indexes={"source": _sources, STORE: _stores},
            secrets=referrers(context.cluster, PUSH_SECRET, "source"),
            component="pushsecret",
        )

    async def apply(self, live: Object) -> timedelta | None:
        spec = content.spec_of(live, PushSecretSpec, UNSUPPORTED)
        interval = content.interval(spec.refresh_interval)
        live = await self._hold(live, spec)
        await self._sync(live, spec, interval)
        after = manifest.status_of(self.latest(live), PushSecretStatus)
        return self.requeue_after(content.refresh_due(after, interval, self._clock.now()))

    async def teardown(self, live: Object) -> bool:
        if (live.get("spec") or {}).get("deletionPolicy") == "Delete":
            recorded = manifest.status_of(live, PushSecretStatus).synced_push_secrets
            await self._delete(live, recorded, keep={})
        return True

    async def _hold(self, live: Object, spec: PushSecretSpec) -> Object:
        if spec.deletion_policy == "Delete":
            return await self.hold(live)
        await finalizers.remove(self._cluster, PUSH_SECRET, live, FINALIZER)
        return self.latest(live)

    async def _sync(self, live: Object, spec: PushSecretSpec, interval: timedelta) -> None:
        namespace = live["metadata"]["namespace"]
        source = await self._source(Key(namespace, spec.selector.secret.name))
        opened = [await self._stores.open(ref, namespace) for ref in spec.secret_store_refs]
        version = content.version(live, source.version, *(each.version for each in opened))
        previous = manifest.status_of(live, PushSecretStatus)
        now = self._clock.now()
        due = content.refresh_due(previous, interval, now)
        if (
            content.is_synced(previous)
            and previous.synced_resource_version == version
            and (due is None or due > now)
        ):
            return
        own = await self._write(live, spec, opened, source.values)
        live = self.latest(live)
        after = PushSecretStatus(
            refresh_time=timestamp(now), synced_resource_version=version, synced_push_secrets=own
        )
        if await self.write_synced(live, after, SYNCED):
            await self._events.normal(live, SYNCED.reason, SYNCED.message)

    async def _write(
        self, live: Object, spec: PushSecretSpec, opened: list[OpenStore], values: Values
    ) -> Entries:
        """Delete entries that left the spec, push the others; return those that we own."""
        recorded = manifest.status_of(live, PushSecretStatus).synced_push_secrets
        plans = {
            each.name: await _planned(spec, each.store, recorded.get(each.name, {}))
            for each in opened
        }
        own = {name: plan.own for name, plan in plans.items()}
        await self._record(live, _merged(recorded, own))
        if spec.deletion_policy == "Delete":
            await self._delete(live, recorded, keep=own)
        for each in opened:
            for entry in plans[each.name].write.values():
                await _push(each, entry, values)
        return own

    async def _source(self, key: Key) -> SourceSecret:
        found = await self._cluster.read(SECRET, key)
        if found is None:
            raise StoreError(f"could not get source secret {key.name!r}: it does not exist")
        data = found.get("data") or {}
        values = {name: base64.b64decode(value) for name, value in data.items()}
        meta = found["metadata"]
        return SourceSecret(values, f"{meta['uid']}/{meta['resourceVersion']}")

    async def _delete(self, live: Object, recorded: Entries, *, keep: Entries) -> None:
        namespace = live["metadata"]["namespace"]
        for name, entries in recorded.items():
            kept = keep.get(name, {})
            obsolete = [entry for ref, entry in entries.items() if ref not in kept]
            if obsolete:
                opened = await self._stores.open(_store_ref(name), namespace)
                for entry in obsolete:
                    ref = entry.match.remote_ref
                    properties = [ref.property] if ref.property else None
                    await opened.store.delete(ref.remote_key, properties)

    async def _record(self, live: Object, entries: Entries) -> None:
        """Record what is about to be written."""
        before = manifest.status_of(live, PushSecretStatus)
        await self.write_status(live, msgspec.structs.replace(before, synced_push_secrets=entries))


class Plan(NamedTuple):
    """Entries of one store: `write` now, `own` to be deleted with the object."""

    write: dict[str, PushSecretData]
    own: dict[str, PushSecretData]


async def _planned(
    spec: PushSecretSpec, store: Store, recorded: Mapping[str, PushSecretData]
) -> Plan:
    """With `IfNotExists` an existing entry is neither written nor owned."""
    plan = Plan({}, {})
    for entry in spec.data:
        ref = entry.match.remote_ref
        name = f"{ref.remote_key}/{ref.property}" if ref.property else ref.remote_key
        keeps = spec.update_policy == "IfNotExists"
        writes = not keeps or not await _exists(store, ref.remote_key, ref.property)
        if writes:
            plan.write[name] = entry
        if writes or name in recorded:
            plan.own[name] = entry
    return plan


async def _exists(store: Store, key: str, property_: str | None) -> bool:
    try:
        values = await store.get(key)
    except KeyNotFound:
        return False
    return property_ is None or property_ in values


async def _push(opened: OpenStore, entry: PushSecretData, values: Values) -> None:
    name, ref = entry.match.secret_key, entry.match.remote_ref
    if name is not None and name not in values:
        raise StoreError(f"set secret failed: secret key {name!r} does not exist")
    if ref.property:
        value = content.as_json(values) if name is None else values[name]
        await opened.store.push(ref.remote_key, {ref.property: value}, whole=False)
    elif name is None:
        await opened.store.push(ref.remote_key, values, whole=True)
    else:
        raise StoreError(
            f"set secret failed: could not write remote ref {ref.remote_key!r} to target secretstore "
            f"{opened.name!r}: requires property in RemoteRef to push secret value"
        )


def _merged(one: Entries, other: Entries) -> Entries:
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in {**one, **other}}


def _store_ref(name: str) -> StoreRef:
    kind, _, rest = name.partition("/")
    clustered = kind == CLUSTER_SECRET_STORE.kind
    return StoreRef(name=rest, kind="ClusterSecretStore" if clustered else "SecretStore")


def _sources(obj: Object) -> Iterable[str]:
    selector = (obj.get("spec") or {}).get("selector") or {}
    name = (selector.get("secret") or {}).get("name")
    if name:
        yield str(Key(obj["metadata"]["namespace"], str(name)))


def _stores(obj: Object) -> Iterable[str]:
    for ref in (obj.get("spec") or {}).get("secretStoreRefs") or ():
        yield index_value(ref, obj["metadata"]["namespace"])
