"""The CA bundle of each namespace as a ConfigMap, for clients; in production trust-manager does it.

Every namespace with a Certificate has one: all CA ClusterIssuers and the namespace's own CA Issuers.
A replaced CA stays in it until it expires, so that clients survive a rotation.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from cobaltcore.api.foreign.certmanager import CERTIFICATE, CLUSTER_ISSUER, ISSUER
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.runtime import certificates, diff
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.controller import Controller, Source
from cobaltcore.runtime.meta import Desired, Key, Object, WatchScope
from cobaltcore.runtime.store import Change
from cobaltlab.providers import provider
from cobaltlab.providers.certmanager_issuer import AUTHORITY, IssuerNotReady, Issuers

NAME = "cobalt-ca-bundle"
FILE = "ca.crt"
LABEL = "c5c3.io/ca-bundle"
DIGEST = "c5c3.io/ca-bundle-digest"


class CaBundleController:
    """Writes the ConfigMap of each namespace; a key is the name of a namespace."""

    def __init__(self, context: provider.Context, issuers: Issuers) -> None:
        self._cluster = context.cluster
        self._clock = context.clock
        self._issuers = issuers
        self._applier = Applier(context.cluster, manager=provider.MANAGER)
        self.controller = Controller(
            "cabundle",
            self.reconcile,
            [
                Source(CERTIFICATE, _namespace),
                Source(ISSUER, _namespace),
                Source(CLUSTER_ISSUER, lambda _: self._all_namespaces()),
                Source(SECRET, self._of_authority, WatchScope(metadata_only=True)),
                Source(CONFIG_MAP, _of_bundle),
            ],
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        namespace = key.name
        if not self._cluster.informer(CERTIFICATE).objects(namespace):
            return None
        now = self._clock.now()
        live = self._cluster.informer(CONFIG_MAP).get(Key(namespace, NAME))
        current = await self._authorities(namespace)
        valid = [each for each in _published(live) if certificates.validity(each)[1] > now]
        if current or valid:
            text = certificates.bundle(*current, *valid).decode()
            await self._applier.apply([_config_map(namespace, text)])
        return _until_first_expiry(valid, now)

    async def _authorities(self, namespace: str) -> list[bytes]:
        issuers = sorted(
            [
                *self._cluster.informer(CLUSTER_ISSUER).objects(),
                *self._cluster.informer(ISSUER).objects(namespace),
            ],
            key=lambda issuer: (issuer["kind"], issuer["metadata"]["name"]),
        )
        found = []
        for issuer in issuers:
            try:
                signer = await self._issuers.signer_of(issuer)
            except IssuerNotReady:
                continue
            if signer.chain:
                found.append(signer.root)
        return found

    def _all_namespaces(self) -> Iterable[Key]:
        known = self._cluster.informer(CERTIFICATE).objects()
        return {Key("", each["metadata"]["namespace"]) for each in known}

    def _of_authority(self, change: Change) -> Iterable[Key]:
        if self._cluster.informer(CLUSTER_ISSUER).find(AUTHORITY, str(change.key)):
            yield from self._all_namespaces()
        if self._cluster.informer(ISSUER).find(AUTHORITY, str(change.key)):
            yield Key("", change.key.namespace)


def _namespace(change: Change) -> Iterable[Key]:
    yield Key("", change.key.namespace)


def _of_bundle(change: Change) -> Iterable[Key]:
    if change.key.name == NAME:
        yield Key("", change.key.namespace)


def _published(config_map: Object | None) -> list[bytes]:
    """The CAs that we published; none if another writer has changed the ConfigMap."""
    if config_map is None:
        return []
    text = (config_map.get("data") or {}).get(FILE)
    written = (config_map["metadata"].get("annotations") or {}).get(DIGEST)
    return certificates.split(text.encode()) if text and diff.digest(text) == written else []


def _config_map(namespace: str, text: str) -> Desired:
    meta = {
        "name": NAME,
        "namespace": namespace,
        "labels": {LABEL: "true"},
        "annotations": {DIGEST: diff.digest(text)},
    }
    return Desired(CONFIG_MAP, {"metadata": meta, "data": {FILE: text}})


def _until_first_expiry(authorities: Iterable[bytes], now: datetime) -> timedelta | None:
    ends = [certificates.validity(each)[1] for each in authorities]
    return min(ends) - now + timedelta(seconds=1) if ends else None
