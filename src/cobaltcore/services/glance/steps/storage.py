"""Where images are kept: a pool of Ceph, or a volume of the cluster. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME_CLAIM
from cobaltcore.api.glance import FileStore
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import Facts, Result
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.meta import Desired

DIRECTORY = "/var/lib/glance"


def is_ceph(facts: Facts) -> bool:
    """Whether images are in Ceph."""
    return bool(facts.spec.storage.backend == "rbd")


def is_volume(facts: Facts) -> bool:
    """Whether images are on a volume."""
    return not is_ceph(facts)


def pools(facts: Facts) -> list[ceph.Pool]:
    """The pool with images, if they are in one."""
    rbd = facts.spec.storage.rbd
    return [ceph.Pool("ceph", rbd, rbd.user or facts.service.name)] if rbd else []


def connected(facts: Facts) -> Result:
    """See that Glance may use its pool."""
    return ceph.connected(facts, pools(facts))


def mounts(facts: Facts) -> Iterator[Mount]:
    """The volume, if there is one."""
    if is_volume(facts):
        yield Mount("images", DIRECTORY, claim=facts.named("images").name)


def claimed(facts: Facts) -> Result:
    """Claim the volume. It stays when Glance is deleted, unless that is asked for."""
    given = facts.spec.storage.file or FileStore()
    spec: dict[str, Any] = {
        "accessModes": _access_modes(facts),
        "resources": {"requests": {"storage": str(given.size)}},
    }
    if given.storage_class is not None:
        spec["storageClassName"] = given.storage_class
    key = facts.named("images")
    meta = {"name": key.name, "namespace": key.namespace, "labels": facts.labels()}
    keep = facts.service.base(facts.spec).deletion_policy == "Retain"
    claim = Desired(PERSISTENT_VOLUME_CLAIM, {"metadata": meta, "spec": spec}, kept=keep)
    return Result(Ready("Claimed"), [claim])


def _access_modes(facts: Facts) -> list[str]:
    """What was claimed once cannot be claimed differently; only its size may grow."""
    found = facts.observed.get(PERSISTENT_VOLUME_CLAIM, facts.named("images"))
    if found is not None:
        modes: list[str] = found["spec"]["accessModes"]
        return modes
    return ["ReadWriteOnce" if facts.spec.replicas == 1 else "ReadWriteMany"]
