"""Objects of K-ORC that K-ORC cannot finish deleting, because their Keystone is gone. Pure."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from cobaltcore.api import keystone
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import clouds
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.plan import Release
from cobaltcore.runtime.meta import Key, Kind, Object


def is_unreachable(observed: Observed, obj: Object) -> bool:
    """Whether an object of K-ORC belongs to a Keystone of ours that does not exist, or has no login.

    A Keystone elsewhere may answer again; what K-ORC keeps in it is K-ORC's to delete.
    """
    namespace = obj["metadata"]["namespace"]
    reference = obj["spec"]["cloudCredentialsRef"]
    content = observed.content(SECRET, Key(namespace, reference["secretName"]))
    if content is None:
        return True
    found = clouds.entry_of(content, reference["cloudName"])
    if found is None:
        return False
    host = urlsplit(str(found[0]["auth"].get("auth_url", ""))).hostname or ""
    name, _, domain = host.partition(".")
    if domain.split(".")[:2] != [namespace, "svc"]:
        return False
    return observed.get(keystone.KIND, Key(namespace, name)) is None


def releases(kind: Kind, objects: Iterable[Object]) -> Iterator[Release]:
    """One finalizer of K-ORC per object that is being deleted; the change brings the next reconcile."""
    for each in objects:
        meta = each["metadata"]
        own = [f for f in meta.get("finalizers") or () if f.startswith(korc.FINALIZER_PREFIX)]
        if own and meta.get("deletionTimestamp"):
            yield Release(kind, each, own[0])
