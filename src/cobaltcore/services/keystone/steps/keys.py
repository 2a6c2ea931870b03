"""Fernet and credential keys: created once, rotated on schedule, read by pods without a restart. Pure.

Keystone names keys by number: 0 is staged (it will write next), the highest number writes, the
others still read. A rotation promotes the staged key and drops the oldest beyond the limit.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.keystone import KeyRotation, KeystoneSpec
from cobaltcore.engine import access, schedule
from cobaltcore.engine.definition import Result, ServiceScope
from cobaltcore.engine.desired import names, secret
from cobaltcore.engine.desired.volumes import Secret, Volume
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.meta import Kind
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp

FERNET_DIR = "/etc/keystone/fernet-keys"
CREDENTIAL_DIR = "/etc/keystone/credential-keys"
KEY_BYTES = 32
STAGED = 0


def generated(instance: str) -> Iterator[tuple[Kind, str]]:
    """The Secrets that hold keys."""
    yield SECRET, f"{instance}-fernet-keys"
    yield SECRET, f"{instance}-credential-keys"


def volumes(scope: ServiceScope[KeystoneSpec]) -> Iterator[Volume]:
    """Where pods read the keys; the kubelet brings new ones into running pods."""
    for name, path in (("fernet-keys", FERNET_DIR), ("credential-keys", CREDENTIAL_DIR)):
        yield Volume(name, path, Secret(scope.named(name).name))


def fernet(scope: ServiceScope[KeystoneSpec]) -> Result:
    """Keys that tokens are encrypted with."""
    found = _keys(scope, "fernet-keys", scope.spec.fernet)
    rotated_at = found.objects[0].body["metadata"]["annotations"][names.ROTATED_AT]
    return replace(found, status={"last_key_rotation": rotated_at})


def credential(scope: ServiceScope[KeystoneSpec]) -> Result:
    """Keys that stored credentials are encrypted with."""
    return _keys(scope, "credential-keys", scope.spec.credential_keys)


def first_keys(make: Callable[[], str]) -> dict[str, str]:
    """A staged key and one that writes."""
    return {"0": make(), "1": make()}


def rotated(keys: Mapping[str, str], limit: int, make: Callable[[], str]) -> dict[str, str]:
    """The next generation of keys."""
    numbers = sorted(int(number) for number in keys)
    promoted = numbers[-1] + 1
    kept = [number for number in numbers if number != STAGED][-(limit - 2) :]
    found = {str(number): keys[str(number)] for number in kept}
    return {"0": make(), **found, str(promoted): keys["0"]}


def _keys(scope: ServiceScope[KeystoneSpec], name: str, rotation: KeyRotation) -> Result:
    def make() -> str:
        return base64.urlsafe_b64encode(scope.random(KEY_BYTES)).decode()

    known = access.secret_content(scope, scope.named(name).name)
    if known is None:
        return _result(scope, name, first_keys(make), timestamp(scope.now), rotation)
    content = secret.texts(known)
    at = (known["metadata"].get("annotations") or {}).get(names.ROTATED_AT)
    if at is None:
        return _result(scope, name, content, timestamp(scope.now), rotation)
    if (
        not rotation.suspend
        and schedule.next_due(rotation.rotation_schedule, parse_timestamp(at)) <= scope.now
    ):
        content, at = rotated(content, rotation.max_active_keys, make), timestamp(scope.now)
    return _result(scope, name, content, at, rotation)


def _result(
    scope: ServiceScope[KeystoneSpec],
    name: str,
    keys: Mapping[str, str],
    at: str,
    rotation: KeyRotation,
) -> Result:
    wanted = secret.secret(
        scope.named(name), keys, labels=scope.labels(), annotations={names.ROTATED_AT: at}
    )._replace(kept=scope.spec.deletion_policy == "Retain")
    if rotation.suspend:
        return Result(Ready("RotationSuspended", f"{len(keys)} keys"), [wanted])
    due = schedule.next_due(rotation.rotation_schedule, scope.now)
    return Result(Ready("KeysAvailable", f"{len(keys)} keys", after=due - scope.now), [wanted])
