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
from cobaltcore.runtime import conditions, diff
from cobaltcore.runtime.controller import owner, referrers
from cobaltcore.runtime.meta import Condition, Desired, Key, Object, key_of
from cobaltcore.runtime.store import Change
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
from cobaltlab.providers.reconciler import is_deleting

MANAGED = "reconcile.external-secrets.io/managed"
CREATED_BY = "reconcile.external-secrets.io/created-by"
DATA_HASH = "reconcile.external-secrets.io/data-hash"
UNSUPPORTED = (
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


class SyncResult(NamedTuple):
    """The condition after a sync."""

    ready: Condition
    secret: str = ""
    """The target Secret, if there is one."""


class SecretMissing(StoreError):
    """There is no Secret to merge values into."""

    reason = "SecretMissing"


class ExternalSecretReconciler(SyncReconciler):
    """The controller of ExternalSecrets."""

    failed_reason = "SecretSyncedError"
    failed_event = "UpdateFailed"

    def __init__(self, context: Context, stores: Stores) -> None:
        super().__init__(
            context,
            EXTERNAL_SECRET,
            stores,
            indexes={"target": _targets, STORE: _stores},
            secrets=self._of_secret,
            component="external-secrets",
        )

    async def apply(self, live: Object) -> timedelta | None:
        spec = content.spec_of(live, ExternalSecretSpec, UNSUPPORTED)
        interval = content.interval(spec.refresh_interval)
        opened = await self._stores.open(spec.secret_store_ref, live["metadata"]["namespace"])
        if await self._is_due(live, spec, opened, interval):
            result = await self._sync(live, spec, opened.store)
            await self._report(live, opened, result, interval)
        if spec.refresh_policy in ("CreatedOnce", "OnChange"):
            return None
        after = manifest.status_of(self.latest(live), ExternalSecretStatus)
        return self.requeue_after(content.refresh_due(after, interval, self._clock.now()))

    async def _is_due(
        self, live: Object, spec: ExternalSecretSpec, opened: OpenStore, interval: timedelta
    ) -> bool:
        previous = manifest.status_of(live, ExternalSecretStatus)
        if any(content.is_pending(live)):
            return True
        if previous.binding is not None and not await self._target_is_intact(live, spec):
            return True
        changed = previous.synced_resource_version != content.version(live, opened.version)
        if spec.refresh_policy in ("CreatedOnce", "OnChange"):
            return changed and spec.refresh_policy == "OnChange"
        due = content.refresh_due(previous, interval, self._clock.now())
        return changed or (due is not None and due <= self._clock.now())

    async def _target_is_intact(self, live: Object, spec: ExternalSecretSpec) -> bool:
        """Whether the Secret still has the synced data."""
        target = spec.target or ExternalSecretTarget()
        if target.creation_policy not in ("Owner", "Orphan"):
            return True
        found = await self._cluster.read(SECRET, _target_key(live, target))
        if found is None:
            return False
        synced = (found["metadata"].get("annotations") or {}).get(DATA_HASH)
        return bool(synced == diff.digest(found.get("data") or {}))

    async def _sync(self, live: Object, spec: ExternalSecretSpec, store: Store) -> SyncResult:
        target = spec.target or ExternalSecretTarget()
        values = await _fetched(spec, store, tolerant=target.deletion_policy != "Retain")
        if not values and target.deletion_policy == "Retain":
            return SyncResult(SYNCED)
        if not values and target.deletion_policy == "Delete":
            await self._delete(live, target)
            return SyncResult(DELETED)
        data = content.rendered(target.template, values)
        encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
        if target.creation_policy in ("Merge", "CreateOrMerge"):
            await self._merge(live, target, encoded)
        elif target.creation_policy != "None":
            await self._replace(live, target, encoded)
        else:
            return SyncResult(SYNCED)
        return SyncResult(SYNCED, _target_key(live, target).name)

    async def _replace(
        self, live: Object, target: ExternalSecretTarget, data: Mapping[str, str]
    ) -> None:
        owned = target.creation_policy == "Owner"
        desired = _secret(live, target, data, labels={CREATED_BY: _creator(live)} if owned else {})
        changes = await self._applier.apply([desired], owner=live if owned else None)
        await self._remove_foreign_keys(desired.key, data)
        if owned:
            await self._applier.prune(live, [SECRET], keep={(SECRET, desired.key)})
        for entry in changes.entries:
            if entry.outcome != "unchanged":
                reason = "Created" if entry.outcome == "created" else "Updated"
                await self._events.normal(live, reason, f"{reason} Secret")

    async def _remove_foreign_keys(self, key: Key, data: Mapping[str, str]) -> None:
        """The Secret is ours as a whole: keys of other writers are removed."""
        found = await self._cluster.read(SECRET, key)
        foreign = (found or {}).get("data", {}).keys() - data.keys()
        if found and foreign and not is_deleting(found):
            version = found["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "data": dict.fromkeys(foreign)}
            self._cluster.observe(SECRET, await self._cluster.client.patch(SECRET, key, patch))

    async def _merge(
        self, live: Object, target: ExternalSecretTarget, data: Mapping[str, str]
    ) -> None:
        """Own only these keys: foreign ones stay, ours are removed when they leave the store."""
        key = _target_key(live, target)
        if target.creation_policy == "Merge" and self._cluster.informer(SECRET).get(key) is None:
            raise SecretMissing(
                f"the desired secret {key.name} was not found. "
                "With creationPolicy=Merge the secret won't be created"
            )
        kind, body = _secret(live, target, data, labels={})[:2]
        if not (target.template and target.template.type):
            body = {name: value for name, value in body.items() if name != "type"}
        manifest_ = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        manager = f"externalsecrets.external-secrets.io/{live['metadata']['name']}"
        result = await self._cluster.client.apply(SECRET, manifest_, manager=manager)
        self._cluster.observe(SECRET, result)

    async def _delete(self, live: Object, target: ExternalSecretTarget) -> None:
        if target.creation_policy != "Owner":
            raise StoreError(
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
        self, live: Object, opened: OpenStore, result: SyncResult, interval: timedelta
    ) -> None:
        previous = manifest.status_of(live, ExternalSecretStatus)
        before = conditions.find(previous.conditions, "Ready")
        now = self._clock.now()
        refreshed: str | None = timestamp(now)
        if result.ready is DELETED and before is not None and before.reason == DELETED.reason:
            # Still no key in the store: a new time would be a change and start a reconcile.
            due = content.refresh_due(previous, interval, now)
            refreshed = previous.refresh_time if due is None or due > now else refreshed
        after = ExternalSecretStatus(
            refresh_time=refreshed,
            synced_resource_version=content.version(live, opened.version),
            binding=SecretBinding(name=result.secret) if result.secret else None,
        )
        await self.write_synced(live, after, result.ready)

    def _of_secret(self, change: Change) -> Iterable[Key]:
        yield from owner(EXTERNAL_SECRET)(change)
        yield from referrers(self._cluster, EXTERNAL_SECRET, "target")(change)


async def _fetched(spec: ExternalSecretSpec, store: Store, *, tolerant: bool) -> dict[str, bytes]:
    """All values of a spec; a missing key is an error unless `tolerant`."""
    found: dict[str, bytes] = {}
    for source in spec.data_from:
        try:
            found |= await _fetched_together(source, store)
        except KeyNotFound:
            if not tolerant:
                raise
    for item in spec.data:
        ref = item.remote_ref
        try:
            found[item.secret_key] = content.selected(
                await store.get(ref.key), ref.property, ref.key
            )
        except KeyNotFound:
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
            raise StoreError(f"spec.dataFrom[].find.name.regexp: {error}") from error
        found = await store.get_all(lambda key: pattern.search(key) is not None)
        values = {key: content.as_json(properties) for key, properties in found.items()}
    else:
        raise StoreError("spec.dataFrom[] has neither extract nor find: set one of them")
    return content.valid_keys(values)


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
