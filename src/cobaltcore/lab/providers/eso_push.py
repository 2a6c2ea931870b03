"""PushSecret: values of a Secret go to stores.

What was written is in the status, by store. It is recorded before it is written, so that a crash
leaves nothing behind that nobody knows of.
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
from cobaltcore.lab.providers import eso_content as content
from cobaltcore.lab.providers import eso_sync as sync
from cobaltcore.lab.providers import provider
from cobaltcore.lab.providers.eso_stores import (
    Missing,
    Opened,
    Store,
    StoreProblem,
    Stores,
    Values,
    index_value,
)
from cobaltcore.runtime import errors, events, finalizers, status
from cobaltcore.runtime.clock import timestamp
from cobaltcore.runtime.controller import Controller, Source, itself, referrers
from cobaltcore.runtime.meta import Condition, Key, Object, Scope, key_of
from cobaltcore.runtime.store import Change

FINALIZER = "pushsecret.externalsecrets.io/finalizer"
UNSERVED = (
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
"""By store, then by remote key and property: as the status has them."""


class Pushed(NamedTuple):
    """The Secret that is pushed."""

    values: Values
    version: str


class Pushing:
    """The controller of PushSecrets."""

    def __init__(self, setting: provider.Setting, stores: Stores) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._stores = stores
        self._events = events.Recorder(
            setting.cluster,
            component="pushsecret",
            instance=setting.instance,
            clock=setting.clock,
        )
        setting.cluster.informer(PUSH_SECRET).add_index("source", _sources)
        sync.index(setting.cluster, PUSH_SECRET, _stores)
        self.controller = Controller(
            "pushsecret",
            self.reconcile,
            [
                Source(PUSH_SECRET, itself),
                Source(SECRET, self._of_secret, Scope(metadata_only=True)),
                *sync.of_stores(setting.cluster, PUSH_SECRET),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Write what the stores lack; with the object goes what it wrote, if it says so."""
        live = self._cluster.informer(PUSH_SECRET).get(key)
        if live is None:
            return None
        try:
            if live["metadata"].get("deletionTimestamp"):
                await self._clean_up(live)
                return None
            spec = content.spec_of(live, PushSecretSpec, UNSERVED)
            every = content.interval(spec.refresh_interval)
            live = await self._hold(live, spec)
            await self._synchronise(live, spec, every)
        except (StoreProblem, errors.Invalid) as problem:
            await self._fail(live, problem)
            return getattr(problem, "retry", None)
        return self._next_look(key, every)

    async def _hold(self, live: Object, spec: PushSecretSpec) -> Object:
        if spec.deletion_policy == "Delete":
            return await finalizers.add(self._cluster, PUSH_SECRET, live, FINALIZER)
        await finalizers.remove(self._cluster, PUSH_SECRET, live, FINALIZER)
        return self._cluster.informer(PUSH_SECRET).get(key_of(live)) or live

    async def _synchronise(self, live: Object, spec: PushSecretSpec, every: timedelta) -> None:
        namespace = live["metadata"]["namespace"]
        source = await self._source(Key(namespace, spec.selector.secret.name))
        opened = [await self._stores.open(ref, namespace) for ref in spec.secret_store_refs]
        version = content.version(live, source.version, *(each.version for each in opened))
        told = manifest.status_of(live, PushSecretStatus)
        now = self._clock.now()
        due = content.refresh_due(told, every, now)
        if (
            content.is_synced(told)
            and told.synced_resource_version == version
            and (due is None or due > now)
        ):
            return
        own = await self._write(live, spec, opened, source.values)
        live = self._cluster.informer(PUSH_SECRET).get(key_of(live)) or live
        after = PushSecretStatus(
            refresh_time=timestamp(now), synced_resource_version=version, synced_push_secrets=own
        )
        if await self._tell(live, after, SYNCED):
            await self._events.normal(live, SYNCED.reason, SYNCED.message)

    async def _write(
        self, live: Object, spec: PushSecretSpec, opened: list[Opened], values: Values
    ) -> Entries:
        """Remove what is not wanted any more, push the rest; return what is ours now."""
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

    async def _source(self, key: Key) -> Pushed:
        found = await self._cluster.read(SECRET, key)
        if found is None:
            raise StoreProblem(f"could not get source secret {key.name!r}: it does not exist")
        data = found.get("data") or {}
        values = {name: base64.b64decode(value) for name, value in data.items()}
        meta = found["metadata"]
        return Pushed(values, f"{meta['uid']}/{meta['resourceVersion']}")

    async def _clean_up(self, live: Object) -> None:
        if not finalizers.present(live, FINALIZER):
            return
        if (live.get("spec") or {}).get("deletionPolicy") == "Delete":
            recorded = manifest.status_of(live, PushSecretStatus).synced_push_secrets
            await self._delete(live, recorded, keep={})
        await finalizers.remove(self._cluster, PUSH_SECRET, live, FINALIZER)

    async def _delete(self, live: Object, recorded: Entries, *, keep: Entries) -> None:
        namespace = live["metadata"]["namespace"]
        for name, entries in recorded.items():
            kept = keep.get(name, {})
            gone = [entry for ref, entry in entries.items() if ref not in kept]
            if gone:
                opened = await self._stores.open(_store_ref(name), namespace)
                for entry in gone:
                    ref = entry.match.remote_ref
                    properties = [ref.property] if ref.property else None
                    await opened.store.delete(ref.remote_key, properties)

    async def _record(self, live: Object, entries: Entries) -> None:
        """Write down what is about to be written."""
        before = manifest.status_of(live, PushSecretStatus)
        after = msgspec.structs.replace(before, synced_push_secrets=entries)
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, PUSH_SECRET, live, built, manager=provider.MANAGER)

    def _next_look(self, key: Key, every: timedelta) -> timedelta | None:
        live = self._cluster.informer(PUSH_SECRET).get(key)
        now = self._clock.now()
        told = manifest.status_of(live or {}, PushSecretStatus)
        due = content.refresh_due(told, every, now)
        return None if due is None else max(timedelta(), due - now)

    async def _fail(self, live: Object, problem: errors.RuntimeFault) -> None:
        # What was recorded in this pass must not get lost again.
        known = self._cluster.informer(PUSH_SECRET).get(key_of(live)) or live
        message = problem.message
        ready = Condition(type="Ready", status="False", reason="Errored", message=message)
        if await self._tell(known, manifest.status_of(known, PushSecretStatus), ready):
            await self._events.warning(known, "Errored", message)

    async def _tell(self, live: Object, after: PushSecretStatus, ready: Condition) -> bool:
        now = self._clock.now()
        return await sync.tell(self._cluster, PUSH_SECRET, live, after, ready, now)

    def _of_secret(self, change: Change) -> Iterable[Key]:
        yield from referrers(self._cluster, PUSH_SECRET, "source")(change)
        yield from sync.waiting(self._cluster, PUSH_SECRET)


class Plan(NamedTuple):
    """What goes to one store: `write` now, `own` to be removed with the object."""

    write: dict[str, PushSecretData]
    own: dict[str, PushSecretData]


async def _planned(
    spec: PushSecretSpec, store: Store, recorded: Mapping[str, PushSecretData]
) -> Plan:
    """With `IfNotExists` nothing that is there is written, and nothing of others is ours."""
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


async def _exists(store: Store, key: str, wanted: str | None) -> bool:
    try:
        values = await store.get(key)
    except Missing:
        return False
    return wanted is None or wanted in values


async def _push(opened: Opened, entry: PushSecretData, values: Values) -> None:
    name, ref = entry.match.secret_key, entry.match.remote_ref
    if name is not None and name not in values:
        raise StoreProblem(f"set secret failed: secret key {name!r} does not exist")
    if ref.property:
        value = content.as_json(values) if name is None else values[name]
        await opened.store.push(ref.remote_key, {ref.property: value}, whole=False)
    elif name is None:
        await opened.store.push(ref.remote_key, values, whole=True)
    else:
        raise StoreProblem(
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
