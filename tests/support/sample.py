"""A small controller with everything that real ones have: children of two kinds, a child in another
namespace held by a finalizer, a referenced Secret, a feature that is switched on and off, status, events.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec

from cobaltcore.runtime import conditions, events, finalizers, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself, owner, referrers
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import (
    Condition,
    Desired,
    Key,
    Kind,
    Object,
    Struct,
    WatchScope,
    key_of,
)

SAMPLE = Kind("tests.c5c3.io", "v1", "Sample", "samples")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
FINALIZER = "tests.c5c3.io/ledger"
MANAGER = "sample-controller"
LEDGER = "ledger"


def _schema() -> Object:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {"spec": free, "status": free}}


CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{SAMPLE.plural}.{SAMPLE.group}"},
    "spec": {
        "group": SAMPLE.group,
        "scope": "Namespaced",
        "names": {"kind": SAMPLE.kind, "plural": SAMPLE.plural, "singular": "sample"},
        "versions": [
            {
                "name": SAMPLE.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _schema()},
                "subresources": {"status": {}},
            }
        ],
    },
}


class SampleSpec(Struct):
    """What a user asks for."""

    message: str = ""
    replicas: int = 1
    feature: bool = False
    secret: str = ""


class SampleStatus(Struct):
    """What the controller reports."""

    conditions: list[Condition] = []
    observed_generation: int = 0
    secret_digest: str = ""


def a_sample(name: str, namespace: str, **spec: Any) -> Object:
    """A Sample object."""
    return {
        "apiVersion": SAMPLE.api_version,
        "kind": SAMPLE.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def secret_of(obj: Object) -> Iterable[str]:
    """Index function: the Secret that a sample reads."""
    name = obj["spec"].get("secret")
    if name:
        yield str(Key(obj["metadata"]["namespace"], name))


class SampleOperator:
    """Reconciles samples of one namespace; `ledger` is a namespace for children that are not owned."""

    def __init__(
        self, cluster: Cluster, *, namespace: str, ledger: str, clock: Clock | None = None
    ) -> None:
        self._cluster = cluster
        self._clock = clock or SystemClock()
        self._ledger = ledger
        self.reconciles: dict[Key, int] = {}
        self._applier = Applier(cluster, manager=MANAGER)
        self._events = events.Recorder(cluster, component=MANAGER, instance="test")
        here, there = WatchScope(namespace), WatchScope(selector="tests.c5c3.io/sample")
        cluster.informer(SAMPLE, here).add_index("secret", secret_of)
        self.controller = Controller(
            "sample",
            self.reconcile,
            [
                Source(SAMPLE, itself, here),
                Source(CONFIG_MAP, self._config_map_owner, there),
                Source(DEPLOYMENT, owner(SAMPLE), here),
                Source(
                    SECRET,
                    referrers(cluster, SAMPLE, "secret"),
                    WatchScope(namespace, metadata_only=True),
                ),
            ],
            clock=clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Bring one sample in order."""
        self.reconciles[key] = self.reconciles.get(key, 0) + 1
        live = self._cluster.informer(SAMPLE).get(key)
        if live is None:
            return None
        if live["metadata"].get("deletionTimestamp"):
            await self._clean_up(live)
            return None
        live = await finalizers.add(self._cluster, SAMPLE, live, FINALIZER)
        spec = msgspec.convert(live["spec"], SampleSpec)
        changes = await self._applier.apply(_children(key, spec), owner=live)
        record = await self._applier.apply([self._record(key, spec)])
        keep = {(entry.kind, entry.key) for entry in changes.entries}
        pruned = await self._applier.prune(live, [CONFIG_MAP, DEPLOYMENT], keep=keep)
        await self._report(live, spec)
        if changes.changed or record.changed or pruned.changed:
            await self._events.normal(live, "Applied", f"message is {spec.message!r}")
        return None

    async def _clean_up(self, live: Object) -> None:
        key = key_of(live)
        record = self._cluster.informer(CONFIG_MAP).get(self._record_key(key))
        if record is not None:
            await self._cluster.client.delete(
                CONFIG_MAP, key_of(record), uid=record["metadata"]["uid"]
            )
        await finalizers.remove(self._cluster, SAMPLE, live, FINALIZER)

    async def _report(self, live: Object, spec: SampleSpec) -> None:
        before = msgspec.convert(live.get("status") or {}, SampleStatus)
        generation = live["metadata"]["generation"]
        secret = await self._cluster.read(SECRET, Key(live["metadata"]["namespace"], spec.secret))
        waits = bool(spec.secret) and secret is None
        ready = Condition(
            type="Ready",
            status="False" if waits else "True",
            reason="SecretMissing" if waits else "Applied",
            message=f"Secret {spec.secret!r} does not exist" if waits else "",
        )
        after = SampleStatus(
            conditions=conditions.merge(
                before.conditions, [ready], now=self._clock.now(), generation=generation
            ),
            observed_generation=generation,
            secret_digest=digest(secret.get("data")) if secret else "",
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, SAMPLE, live, built, manager=MANAGER)

    def _record_key(self, key: Key) -> Key:
        return Key(self._ledger, f"{key.namespace}-{key.name}")

    def _record(self, key: Key, spec: SampleSpec) -> Desired:
        name = self._record_key(key)
        meta = {
            "name": name.name,
            "namespace": name.namespace,
            "labels": {"tests.c5c3.io/sample": key.name, "tests.c5c3.io/namespace": key.namespace},
        }
        return Desired(CONFIG_MAP, {"metadata": meta, "data": {"replicas": str(spec.replicas)}})

    def _config_map_owner(self, change: Any) -> Iterable[Key]:
        labels = change.latest["metadata"].get("labels") or {}
        if "tests.c5c3.io/namespace" in labels:
            yield Key(labels["tests.c5c3.io/namespace"], labels["tests.c5c3.io/sample"])
        else:
            yield from owner(SAMPLE)(change)


def _children(key: Key, spec: SampleSpec) -> Iterable[Desired]:
    labels = {"tests.c5c3.io/sample": key.name}

    def meta(suffix: str) -> Object:
        return {"name": f"{key.name}-{suffix}", "namespace": key.namespace, "labels": labels}

    yield Desired(CONFIG_MAP, {"metadata": meta("message"), "data": {"message": spec.message}})
    if spec.feature:
        yield Desired(CONFIG_MAP, {"metadata": meta("feature"), "data": {"on": "yes"}})
    container = {
        "name": "main",
        "image": "example.invalid/sample:1",
        # The server spells this 1: what it returns differs from what was sent.
        "resources": {"requests": {"cpu": "1000m"}},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    yield Desired(
        DEPLOYMENT,
        {
            "metadata": meta("main"),
            "spec": {
                "replicas": spec.replicas,
                "selector": {"matchLabels": labels},
                "template": template,
            },
        },
    )
