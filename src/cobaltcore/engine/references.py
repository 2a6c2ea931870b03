"""Which other objects a spec names: found by type, wherever they are in it. Pure."""

from collections.abc import Iterator

import msgspec

from cobaltcore.api import base
from cobaltcore.api.blocks import AppCredentialRef, Policy, SecretRef, ServiceSpec
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET, STATEFUL_SET
from cobaltcore.api.foreign.mariadb import MARIADB
from cobaltcore.api.storage import Rbd
from cobaltcore.runtime.meta import Key, Kind

MONITORS = "rook-ceph-mon-endpoints"
"""The ConfigMap in which Rook publishes the monitors of its Ceph."""


def named(namespace: str, spec: ServiceSpec) -> Iterator[tuple[Kind, Key]]:
    """Secrets and ConfigMaps whose content the service needs."""
    for each in _structs(spec):
        if isinstance(each, SecretRef):
            yield SECRET, Key(namespace, each.name)
        elif isinstance(each, AppCredentialRef):
            yield SECRET, Key(namespace, each.secret)
        elif isinstance(each, Policy) and each.config_map_ref is not None:
            yield CONFIG_MAP, Key(namespace, each.config_map_ref.name)
        elif isinstance(each, Rbd) and each.ceph_client_ref is not None:
            yield CONFIG_MAP, Key(each.ceph_client_ref.namespace or namespace, MONITORS)


def clusters(namespace: str, spec: ServiceSpec) -> Iterator[tuple[Kind, Key]]:
    """The MariaDB and the Memcached that the service uses."""
    if spec.database is not None and spec.database.cluster_ref is not None:
        yield MARIADB, Key(namespace, spec.database.cluster_ref.name)
    if spec.cache is not None and spec.cache.cluster_ref is not None:
        yield STATEFUL_SET, Key(namespace, spec.cache.cluster_ref.name)


def depended_on(namespace: str, spec: ServiceSpec) -> Iterator[tuple[Kind, Key]]:
    """Objects whose conditions are waited for."""
    for each in spec.depends_on or ():
        for definition in base.definitions():
            if definition.kind.kind == each.kind:
                yield definition.kind, Key(namespace, each.name)


def _structs(value: object) -> Iterator[msgspec.Struct]:
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from _structs(getattr(value, name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _structs(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _structs(item)
