"""The authorities of the lab as a ConfigMap, for clients that have to trust what they signed.

Every namespace with a Certificate has it: all CA ClusterIssuers and the namespace's own CA Issuers.
An authority that was replaced stays in it until it expires, so that a rotation breaks nobody.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from cobaltcore.api.foreign.certmanager import CERTIFICATE, CLUSTER_ISSUER, ISSUER
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.lab.providers import provider
from cobaltcore.lab.providers.certmanager_issuer import AUTHORITY, CannotSign, Issuers
from cobaltcore.runtime import certificates, diff
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.controller import Controller, Source
from cobaltcore.runtime.meta import Desired, Key, Object, Scope
from cobaltcore.runtime.store import Change

NAME = "cobalt-ca-bundle"
FILE = "ca.crt"
LABEL = "c5c3.io/ca-bundle"
DIGEST = "c5c3.io/ca-bundle-digest"


class Bundles:
    """Keeps the ConfigMap of each namespace; a key is the name of a namespace."""

    def __init__(self, setting: provider.Setting, issuers: Issuers) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._issuers = issuers
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self.controller = Controller(
            "cabundle",
            self.reconcile,
            [
                Source(CERTIFICATE, _namespace),
                Source(ISSUER, _namespace),
                Source(CLUSTER_ISSUER, lambda _: self._all_namespaces()),
                Source(SECRET, self._of_authority, Scope(metadata_only=True)),
                Source(CONFIG_MAP, _of_bundle),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Write the bundle of one namespace."""
        namespace = key.name
        if not self._cluster.informer(CERTIFICATE).objects(namespace):
            return None
        now = self._clock.now()
        before = self._cluster.informer(CONFIG_MAP).get(Key(namespace, NAME))
        current = await self._authorities(namespace)
        former = _published(before)
        lasting = [each for each in former if certificates.validity(each)[1] > now]
        if current or lasting:
            text = certificates.bundle(*current, *lasting).decode()
            await self._applier.apply([_config_map(namespace, text)])
        return _until_first_expiry(lasting, now)

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
            except CannotSign:
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
    """What we published before; nothing if somebody else wrote into it."""
    if config_map is None:
        return []
    text = (config_map.get("data") or {}).get(FILE)
    said = (config_map["metadata"].get("annotations") or {}).get(DIGEST)
    return certificates.split(text.encode()) if text and diff.digest(text) == said else []


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
