"""Fernet and credential keys: made once, rotated on schedule, read by pods without a restart. Pure.

Keystone names keys by number: 0 is staged (it will write next), the highest number writes, the
others still read. A rotation promotes the staged key and drops the oldest beyond the limit.
"""

import base64
from collections.abc import Callable, Iterator, Mapping

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.keystone import KeyRotation
from cobaltcore.engine import access, schedule
from cobaltcore.engine.definition import Facts, Result
from cobaltcore.engine.desired import names, secret
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.clock import parse_timestamp, timestamp
from cobaltcore.runtime.meta import Kind

FERNET_DIR = "/etc/keystone/fernet-keys"
CREDENTIAL_DIR = "/etc/keystone/credential-keys"
KEY_BYTES = 32
STAGED = 0


def generated(instance: str) -> Iterator[tuple[Kind, str]]:
    """The Secrets that hold keys."""
    yield SECRET, f"{instance}-fernet-keys"
    yield SECRET, f"{instance}-credential-keys"


def mounts(facts: Facts) -> Iterator[Mount]:
    """Where pods read the keys; the kubelet brings new ones into running pods."""
    yield Mount("fernet-keys", FERNET_DIR, secret=facts.named("fernet-keys").name, mode=0o440)
    yield Mount(
        "credential-keys", CREDENTIAL_DIR, secret=facts.named("credential-keys").name, mode=0o440
    )


def fernet(facts: Facts) -> Result:
    """Keys that tokens are made with."""
    return _keys(facts, "fernet-keys", facts.spec.fernet)


def credential(facts: Facts) -> Result:
    """Keys that stored credentials are encrypted with."""
    return _keys(facts, "credential-keys", facts.spec.credential_keys)


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


def _keys(facts: Facts, name: str, rotation: KeyRotation) -> Result:
    def make() -> str:
        return base64.urlsafe_b64encode(facts.random(KEY_BYTES)).decode()

    known = access.secret_content(facts, facts.named(name).name)
    if known is None:
        return _result(facts, name, first_keys(make), timestamp(facts.now), rotation)
    content = secret.texts(known)
    at = (known["metadata"].get("annotations") or {}).get(names.ROTATED_AT)
    if at is None:
        return _result(facts, name, content, timestamp(facts.now), rotation)
    if (
        not rotation.suspend
        and schedule.next_due(rotation.rotation_schedule, parse_timestamp(at)) <= facts.now
    ):
        content, at = rotated(content, rotation.max_active_keys, make), timestamp(facts.now)
    return _result(facts, name, content, at, rotation)


def _result(
    facts: Facts, name: str, keys: Mapping[str, str], at: str, rotation: KeyRotation
) -> Result:
    wanted = secret.secret(
        facts.named(name), keys, labels=facts.labels(), annotations={names.ROTATED_AT: at}
    )._replace(kept=facts.spec.deletion_policy == "Retain")
    if rotation.suspend:
        return Result(Ready("RotationSuspended", f"{len(keys)} keys"), [wanted])
    due = schedule.next_due(rotation.rotation_schedule, facts.now)
    return Result(Ready("KeysAvailable", f"{len(keys)} keys", after=due - facts.now), [wanted])
