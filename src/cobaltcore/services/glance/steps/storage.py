"""Where images are kept: a pool of Ceph, or a volume of the cluster. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME_CLAIM
from cobaltcore.api.glance import FileStore, GlanceSpec
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import Result, ServiceScope
from cobaltcore.engine.desired.volumes import Claim, Volume
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.meta import Desired

DIRECTORY = "/var/lib/glance"


def is_ceph(scope: ServiceScope[GlanceSpec]) -> bool:
    """Whether images are in Ceph."""
    return bool(scope.spec.storage.backend == "rbd")


def is_volume(scope: ServiceScope[GlanceSpec]) -> bool:
    """Whether images are on a volume."""
    return not is_ceph(scope)


def pools(scope: ServiceScope[GlanceSpec]) -> list[ceph.Pool]:
    """The pool with images, if they are in one."""
    rbd = scope.spec.storage.rbd
    return [ceph.Pool("ceph", rbd, rbd.ceph_user(scope.service.name))] if rbd else []


def connected(scope: ServiceScope[GlanceSpec]) -> Result:
    """See that Glance may use its pool."""
    return ceph.connected(scope, pools(scope))


def volumes(scope: ServiceScope[GlanceSpec]) -> Iterator[Volume]:
    """The volume, if there is one."""
    if is_volume(scope):
        yield Volume("images", DIRECTORY, Claim(scope.named("images").name))


def claimed(scope: ServiceScope[GlanceSpec]) -> Result:
    """Claim the volume. It stays when Glance is deleted, unless that is asked for."""
    store = scope.spec.storage.file or FileStore()
    spec: dict[str, Any] = {
        "accessModes": _access_modes(scope),
        "resources": {"requests": {"storage": str(store.size)}},
    }
    if store.storage_class is not None:
        spec["storageClassName"] = store.storage_class
    key = scope.named("images")
    meta = {"name": key.name, "namespace": key.namespace, "labels": scope.labels()}
    keep = scope.spec.deletion_policy == "Retain"
    claim = Desired(PERSISTENT_VOLUME_CLAIM, {"metadata": meta, "spec": spec}, kept=keep)
    return Result(Ready("Claimed"), [claim])


def _access_modes(scope: ServiceScope[GlanceSpec]) -> list[str]:
    """What was claimed once cannot be claimed differently; only its size may grow."""
    found = scope.observed.get(PERSISTENT_VOLUME_CLAIM, scope.named("images"))
    if found is not None:
        modes: list[str] = found["spec"]["accessModes"]
        return modes
    return ["ReadWriteOnce" if scope.spec.replicas == 1 else "ReadWriteMany"]
