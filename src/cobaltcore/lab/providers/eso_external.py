"""ExternalSecret: a Secret whose values come from a store."""

import base64
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.eso import (
    EXTERNAL_SECRET,
    ExternalSecretDataFrom,
    ExternalSecretSpec,
    ExternalSecretStatus,
    ExternalSecretTarget,
    SecretBinding,
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
from cobaltcore.runtime import conditions, diff, errors, events
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.clock import timestamp
from cobaltcore.runtime.controller import Controller, Source, itself, owner, referrers
from cobaltcore.runtime.meta import Condition, Desired, Key, Object, Scope, key_of
from cobaltcore.runtime.store import Change

MANAGED = "reconcile.external-secrets.io/managed"
CREATED_BY = "reconcile.external-secrets.io/created-by"
DATA_HASH = "reconcile.external-secrets.io/data-hash"
UNSERVED = (
    "data[].sourceRef",
    "data[].remoteRef.decodingStrategy",
    "data[].remoteRef.metadataPolicy",
    "dataFrom[].sourceRef",
    "dataFrom[].rewrite",
    "dataFrom[].extract.decodingStrategy",
    "dataFrom[].extract.metadataPolicy",
    "dataFrom[].find.tags",
    "dataFrom[].find.path",
    "dataFrom[].find.decodingStrategy",
    "syncWindows",
    "target.immutable",
    "target.manifest",
    "target.template.templateFrom",
)
SYNCED = Condition(type="Ready", status="True", reason="SecretSynced", message="secret synced")
DELETED = Condition(
    type="Ready",
    status="True",
    reason=content.SYNCED_BY_ABSENCE,
    message="secret deleted due to DeletionPolicy",
)


class Carried(NamedTuple):
    """What became of the values."""

    ready: Condition
    secret: str = ""
    """The Secret that holds them, if one does."""


class SecretMissing(StoreProblem):
    """There is nothing to merge values into."""

    reason = "SecretMissing"


class Fetching:
    """The controller of ExternalSecrets."""

    def __init__(self, setting: provider.Setting, stores: Stores) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._stores = stores
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self._events = events.Recorder(
            setting.cluster,
            component="external-secrets",
            instance=setting.instance,
            clock=setting.clock,
        )
        setting.cluster.informer(EXTERNAL_SECRET).add_index("target", _targets)
        sync.index(setting.cluster, EXTERNAL_SECRET, _stores)
        self.controller = Controller(
            "externalsecret",
            self.reconcile,
            [
                Source(EXTERNAL_SECRET, itself),
                Source(SECRET, self._of_secret, Scope(metadata_only=True)),
                *sync.of_stores(setting.cluster, EXTERNAL_SECRET),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Carry the values over if it is time to; what is there stays if that fails."""
        live = self._cluster.informer(EXTERNAL_SECRET).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        try:
            spec = content.spec_of(live, ExternalSecretSpec, UNSERVED)
            every = content.interval(spec.refresh_interval)
            opened = await self._stores.open(spec.secret_store_ref, key.namespace)
            if await self._is_due(live, spec, opened, every):
                carried = await self._carry_over(live, spec, opened.store)
                await self._report(live, opened, carried, every)
        except (StoreProblem, ForeignObject, errors.Invalid) as problem:
            await self._fail(live, problem)
            return getattr(problem, "retry", None)
        return self._next_look(key, spec, every)

    async def _is_due(
        self, live: Object, spec: ExternalSecretSpec, opened: Opened, every: timedelta
    ) -> bool:
        told = manifest.status_of(live, ExternalSecretStatus)
        if any(content.is_pending(live)):
            return True
        if told.binding is not None and not await self._target_holds(live, spec):
            return True
        changed = told.synced_resource_version != content.version(live, opened.version)
        if spec.refresh_policy in ("CreatedOnce", "OnChange"):
            return changed and spec.refresh_policy == "OnChange"
        due = content.refresh_due(told, every, self._clock.now())
        return changed or (due is not None and due <= self._clock.now())

    async def _target_holds(self, live: Object, spec: ExternalSecretSpec) -> bool:
        """Whether the Secret still has what we put into it."""
        target = spec.target or ExternalSecretTarget()
        if target.creation_policy not in ("Owner", "Orphan"):
            return True
        found = await self._cluster.read(SECRET, _target_key(live, target))
        if found is None:
            return False
        said = (found["metadata"].get("annotations") or {}).get(DATA_HASH)
        return bool(said == diff.digest(found.get("data") or {}))

    def _next_look(self, key: Key, spec: ExternalSecretSpec, every: timedelta) -> timedelta | None:
        live = self._cluster.informer(EXTERNAL_SECRET).get(key)
        if live is None or spec.refresh_policy in ("CreatedOnce", "OnChange"):
            return None
        now = self._clock.now()
        due = content.refresh_due(manifest.status_of(live, ExternalSecretStatus), every, now)
        return None if due is None else max(timedelta(), due - now)

    async def _carry_over(self, live: Object, spec: ExternalSecretSpec, store: Store) -> Carried:
        target = spec.target or ExternalSecretTarget()
        values = await _fetched(spec, store, tolerant=target.deletion_policy != "Retain")
        if not values and target.deletion_policy == "Retain":
            return Carried(SYNCED)
        if not values and target.deletion_policy == "Delete":
            await self._delete(live, target)
            return Carried(DELETED)
        data = content.rendered(target.template, values)
        encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
        if target.creation_policy in ("Merge", "CreateOrMerge"):
            await self._merge(live, target, encoded)
        elif target.creation_policy != "None":
            await self._write(live, target, encoded)
        else:
            return Carried(SYNCED)
        return Carried(SYNCED, _target_key(live, target).name)

    async def _write(
        self, live: Object, target: ExternalSecretTarget, data: Mapping[str, str]
    ) -> None:
        owned = target.creation_policy == "Owner"
        wanted = _secret(live, target, data, labels={CREATED_BY: _creator(live)} if owned else {})
        changes = await self._applier.apply([wanted], owner=live if owned else None)
        await self._remove_others(wanted.key, data)
        if owned:
            await self._applier.prune(live, [SECRET], keep={(SECRET, wanted.key)})
        for entry in changes.entries:
            if entry.outcome != "unchanged":
                word = "Created" if entry.outcome == "created" else "Updated"
                await self._events.normal(live, word, f"{word} Secret")

    async def _remove_others(self, key: Key, data: Mapping[str, str]) -> None:
        """Such a Secret is ours as a whole: what somebody wrote beside our keys goes."""
        found = await self._cluster.read(SECRET, key)
        others = (found or {}).get("data", {}).keys() - data.keys()
        if found and others and not found["metadata"].get("deletionTimestamp"):
            version = found["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "data": dict.fromkeys(others)}
            self._cluster.observe(SECRET, await self._cluster.client.patch(SECRET, key, patch))

    async def _merge(
        self, live: Object, target: ExternalSecretTarget, data: Mapping[str, str]
    ) -> None:
        """Own only these keys: others of the Secret stay, and ours go when they leave the store."""
        key = _target_key(live, target)
        if target.creation_policy == "Merge" and self._cluster.informer(SECRET).get(key) is None:
            raise SecretMissing(
                f"the desired secret {key.name} was not found. "
                "With creationPolicy=Merge the secret won't be created"
            )
        kind, body = _secret(live, target, data, labels={})[:2]
        if not (target.template and target.template.type):
            body = {name: value for name, value in body.items() if name != "type"}
        wanted = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        manager = f"externalsecrets.external-secrets.io/{live['metadata']['name']}"
        result = await self._cluster.client.apply(SECRET, wanted, manager=manager)
        self._cluster.observe(SECRET, result)

    async def _delete(self, live: Object, target: ExternalSecretTarget) -> None:
        if target.creation_policy != "Owner":
            raise StoreProblem(
                f"invalid creationPolicy={target.creation_policy}. "
                "Can not delete a secret that is not owned"
            )
        found = self._cluster.informer(SECRET).get(_target_key(live, target))
        owners = (found or {"metadata": {}})["metadata"].get("ownerReferences") or ()
        if found and any(each["uid"] == live["metadata"]["uid"] for each in owners):
            uid = found["metadata"]["uid"]
            await self._cluster.client.delete(SECRET, key_of(found), uid=uid)
            await self._events.normal(live, "Deleted", "secret deleted due to DeletionPolicy")

    async def _report(
        self, live: Object, opened: Opened, carried: Carried, every: timedelta
    ) -> None:
        before = manifest.status_of(live, ExternalSecretStatus)
        known = conditions.find(before.conditions, "Ready")
        now = self._clock.now()
        refreshed: str | None = timestamp(now)
        if carried.ready is DELETED and known is not None and known.reason == DELETED.reason:
            # Still nothing there: a new time would be a change, and ask for the next pass.
            due = content.refresh_due(before, every, now)
            refreshed = before.refresh_time if due is None or due > now else refreshed
        after = ExternalSecretStatus(
            refresh_time=refreshed,
            synced_resource_version=content.version(live, opened.version),
            binding=SecretBinding(name=carried.secret) if carried.secret else None,
        )
        await self._tell(live, after, carried.ready)

    async def _tell(self, live: Object, after: ExternalSecretStatus, ready: Condition) -> bool:
        now = self._clock.now()
        return await sync.tell(self._cluster, EXTERNAL_SECRET, live, after, ready, now)

    async def _fail(self, live: Object, problem: errors.RuntimeFault) -> None:
        reason = "SecretMissing" if isinstance(problem, SecretMissing) else "SecretSyncedError"
        hint = f" ({problem.hint})" if problem.hint else ""
        message = f"{problem.message}{hint}"
        ready = Condition(type="Ready", status="False", reason=reason, message=message)
        if await self._tell(live, manifest.status_of(live, ExternalSecretStatus), ready):
            await self._events.warning(live, "UpdateFailed", message)

    def _of_secret(self, change: Change) -> Iterable[Key]:
        yield from owner(EXTERNAL_SECRET)(change)
        yield from referrers(self._cluster, EXTERNAL_SECRET, "target")(change)
        yield from sync.waiting(self._cluster, EXTERNAL_SECRET)


async def _fetched(spec: ExternalSecretSpec, store: Store, *, tolerant: bool) -> dict[str, bytes]:
    """All values of a spec; a missing one is a problem unless `tolerant`."""
    found: dict[str, bytes] = {}
    for source in spec.data_from:
        try:
            found |= await _fetched_together(source, store)
        except Missing:
            if not tolerant:
                raise
    for item in spec.data:
        ref = item.remote_ref
        try:
            found[item.secret_key] = content.selected(
                await store.get(ref.key), ref.property, ref.key
            )
        except Missing:
            if not tolerant:
                raise
    return found


async def _fetched_together(source: ExternalSecretDataFrom, store: Store) -> dict[str, bytes]:
    if source.extract is not None:
        ref = source.extract
        values: Values = content.extracted(await store.get(ref.key), ref.property, ref.key)
    elif source.find is not None:
        try:
            pattern = re.compile(source.find.name.regexp)
        except re.error as error:
            raise StoreProblem(f"dataFrom[].find.name.regexp: {error}") from error
        every = await store.get_all(lambda key: pattern.search(key) is not None)
        values = {key: content.as_json(properties) for key, properties in every.items()}
    else:
        raise StoreProblem("dataFrom[] needs extract or find")
    return content.legal_keys(values)


def _target_key(live: Object, target: ExternalSecretTarget) -> Key:
    return Key(live["metadata"]["namespace"], target.name or live["metadata"]["name"])


def _creator(live: Object) -> str:
    return diff.digest(str(key_of(live)))


def _secret(
    live: Object,
    target: ExternalSecretTarget,
    data: Mapping[str, str],
    *,
    labels: Mapping[str, str],
) -> Desired:
    key = _target_key(live, target)
    own_labels, annotations = content.metadata(live, target.template)
    meta = {
        "name": key.name,
        "namespace": key.namespace,
        "labels": {**own_labels, MANAGED: "true", **labels},
        "annotations": {**annotations, DATA_HASH: diff.digest(data)},
    }
    type_ = (target.template and target.template.type) or "Opaque"
    return Desired(SECRET, {"metadata": meta, "type": type_, "data": dict(data)})


def _targets(obj: Object) -> Iterable[str]:
    target = (obj.get("spec") or {}).get("target") or {}
    name = target.get("name") or obj["metadata"]["name"]
    yield str(Key(obj["metadata"]["namespace"], str(name)))


def _stores(obj: Object) -> Iterable[str]:
    ref = (obj.get("spec") or {}).get("secretStoreRef") or {}
    yield index_value(ref, obj["metadata"]["namespace"])
