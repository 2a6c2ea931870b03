"""Fernet and credential keys: created once, rotated on schedule, read by pods without a restart. Pure.

All state is in the Secrets and in Jobs, so that a rotation continues wherever it was interrupted:
a key is staged, promoted by one write of its Secret, and dropped when nothing needs it any more.
"""

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.keystone import KeyRotation, KeystoneSpec
from cobaltcore.engine import access, jobs, schedule
from cobaltcore.engine.definition import Result, ServiceScope, Task
from cobaltcore.engine.desired import secret
from cobaltcore.engine.desired.volumes import Secret, Volume
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Desired, Kind, Object
from cobaltcore.runtime.timestamps import timestamp
from cobaltcore.services.keystone.steps import tokens
from cobaltcore.services.keystone.steps.keyring import FIRST, PROPAGATION, STAGED, Keyring

FERNET, CREDENTIAL = "fernet-keys", "credential-keys"
DIRECTORIES = {name: f"/etc/keystone/{name}" for name in (FERNET, CREDENTIAL)}
CONDITIONS = {FERNET: "FernetKeysReady", CREDENTIAL: "CredentialKeysReady"}
ENCRYPTED = {FERNET: "tokens", CREDENTIAL: "stored credentials"}
KEY_BYTES = 32
CREATED, LOST = "KeysCreated", "KeysLost"
MIGRATING = "MigrationInProgress"


def generated(instance: str) -> Iterator[tuple[Kind, str]]:
    """The Secrets that hold keys."""
    for name in DIRECTORIES:
        yield SECRET, f"{instance}-{name}"


def volumes(scope: ServiceScope[KeystoneSpec]) -> Iterator[Volume]:
    """Where pods read the keys; the kubelet brings new ones into running pods."""
    for name, path in DIRECTORIES.items():
        yield Volume(name, path, Secret(scope.named(name).name))


def fernet(scope: ServiceScope[KeystoneSpec]) -> Result:
    """Keys of tokens: each stays for as long as a token that it encrypted can live."""
    rotation, lifetime = scope.spec.fernet, tokens.lifetime(scope.spec)
    ring = _read(scope, FERNET)
    if not isinstance(ring, Keyring):
        return ring
    if not rotation.suspend and _fernet_due(ring, rotation, lifetime) <= scope.now:
        limit = rotation.max_active_keys
        ring = ring.rotated(limit, lambda: _key(scope), scope.now, needed=lifetime)
    verdict = _available(scope, ring, rotation, _fernet_due(ring, rotation, lifetime))
    status = {"last_key_rotation": timestamp(ring.rotated_at)}
    return Result(verdict, [_secret(scope, FERNET, ring)], status=status)


def credential(scope: ServiceScope[KeystoneSpec]) -> Result:
    """Keys of stored credentials: the staged one is promoted when all are encrypted with the one before."""
    rotation = scope.spec.credential_keys
    ring = _read(scope, CREDENTIAL)
    if not isinstance(ring, Keyring):
        return ring
    due = _due(ring, rotation)
    start = due if ring.primary == FIRST else ring.rotated_at + PROPAGATION
    if scope.now < start or (rotation.suspend and ring.primary == FIRST):
        verdict = _available(scope, ring, rotation, start)
        return Result(verdict, [_secret(scope, CREDENTIAL, ring)])
    ran = jobs.run_once(scope, migration(scope, ring), running=MIGRATING)
    if not isinstance(ran.verdict, Ready):
        return Result(
            _migrating(ran), [_secret(scope, CREDENTIAL, ring), *ran.objects], ran.removals
        )
    if not rotation.suspend and due <= scope.now:
        ring = ring.rotated(rotation.max_active_keys, lambda: _key(scope), scope.now)
        verdict = _available(scope, ring, rotation, ring.rotated_at + PROPAGATION)
        return Result(verdict, [_secret(scope, CREDENTIAL, ring)])
    verdict = _available(scope, ring, rotation, due)
    return Result(verdict, [_secret(scope, CREDENTIAL, ring), *ran.objects])


def migration(scope: ServiceScope[KeystoneSpec], ring: Keyring) -> Task:
    """Encrypt every stored credential with the primary key.

    Its pod names the keys, so that it does not start before its kubelet has exactly these.
    """
    files = {name: name for name in ring.values}
    source = Secret(scope.named(CREDENTIAL).name, files)
    return Task(
        "credential-migrate",
        ("keystone-manage", "credential_migrate"),
        inputs=[ring.primary, timestamp(ring.rotated_at)],
        volumes=(Volume(CREDENTIAL, DIRECTORIES[CREDENTIAL], source),),
    )


def _migrating(ran: Result) -> Ready | Waiting:
    """The keys are in use meanwhile; a failure needs a person, as rotation stops."""
    verdict = ran.verdict
    assert isinstance(verdict, Waiting)  # noqa: S101 a Job is never blocked
    if verdict.reason == MIGRATING:
        return Ready(MIGRATING, verdict.message)
    text = (
        f"{verdict.message}. Keys are not rotated until all stored credentials can be encrypted "
        "again; delete one that cannot be decrypted: openstack credential delete ID"
    )
    return Waiting("MigrationFailed", text, after=verdict.after)


def _read(scope: ServiceScope[KeystoneSpec], name: str) -> Keyring | Result:
    """The keys as they are; else they are created, unless there were keys before."""
    found = access.secret_content(scope, scope.named(name).name)
    if found is None:
        return _lost(scope, name, found) if _existed(scope, name) else _created(scope, name)
    if not found.get("data"):
        return _created(scope, name)
    ring = Keyring.read(found, scope.now)
    return ring if STAGED in ring.keys else _lost(scope, name, found)


def _existed(scope: ServiceScope[KeystoneSpec], name: str) -> bool:
    """Whether a reconcile has seen the keys: it reported so, which it does not of those it creates."""
    before = conditions.find(scope.status.conditions if scope.status else (), CONDITIONS[name])
    return before is not None and before.status != "Unknown" and before.reason != CREATED


def _created(scope: ServiceScope[KeystoneSpec], name: str) -> Result:
    ring = Keyring.created(lambda: _key(scope), scope.now)
    text = f"Secret {scope.named(name).name!r} is being created"
    return Result(Waiting(CREATED, text), [_secret(scope, name, ring)])


def _lost(scope: ServiceScope[KeystoneSpec], name: str, found: Object | None) -> Result:
    """New keys would make everything unreadable that the old ones encrypted: a person decides."""
    own = scope.named(name).name
    what = "does not exist any more" if found is None else f"has no key '{STAGED}'"
    text = (
        f"Secret {own!r} {what}: without its keys {ENCRYPTED[name]} cannot be read. Restore it "
        f"from a backup; if they are lost, get new ones with: kubectl create secret generic {own}"
    )
    untouched = _desired(scope, name, {}, {})._replace(once=True)
    return Result(Blocked(LOST, text), [untouched] if found is not None else [])


def _due(ring: Keyring, rotation: KeyRotation) -> datetime:
    return max(
        schedule.next_due(rotation.rotation_schedule, ring.rotated_at),
        ring.rotated_at + PROPAGATION,
    )


def _fernet_due(ring: Keyring, rotation: KeyRotation, lifetime: timedelta) -> datetime:
    return max(_due(ring, rotation), ring.has_room_at(lifetime))


def _available(
    scope: ServiceScope[KeystoneSpec], ring: Keyring, rotation: KeyRotation, due: datetime
) -> Ready:
    text = f"{len(ring.keys)} keys"
    if rotation.suspend:
        after = due - scope.now if due > scope.now and ring.primary != FIRST else None
        return Ready("RotationSuspended", text, after=after)
    return Ready("KeysAvailable", text, after=max(due - scope.now, timedelta(0)))


def _key(scope: ServiceScope[KeystoneSpec]) -> str:
    return base64.urlsafe_b64encode(scope.random(KEY_BYTES)).decode()


def _secret(scope: ServiceScope[KeystoneSpec], name: str, ring: Keyring) -> Desired:
    return _desired(scope, name, ring.values, ring.annotations)


def _desired(
    scope: ServiceScope[KeystoneSpec],
    name: str,
    values: dict[str, str],
    annotations: dict[str, str],
) -> Desired:
    wanted = secret.secret(
        scope.named(name), values, labels=scope.labels(), annotations=annotations
    )
    return wanted._replace(kept=scope.keeps_data, adopts=())
