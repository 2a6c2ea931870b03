"""Which other objects a spec names: found by type, wherever they are in it. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cobaltcore.api.blocks import AppCredentialRef, Dependency, Policy, SecretRef, ServiceSpec
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.api.storage import Rbd
from cobaltcore.runtime.meta import Key, Kind

MONITORS = "rook-ceph-mon-endpoints"
"""The ConfigMap in which Rook tells where the monitors of its Ceph are."""


def named(namespace: str, spec: Any) -> Iterator[tuple[Kind, Key]]:
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


def depended_on(spec: ServiceSpec) -> Iterator[Dependency]:
    """Objects whose conditions are waited for."""
    yield from spec.depends_on or ()


def _structs(value: Any) -> Iterator[msgspec.Struct]:
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
