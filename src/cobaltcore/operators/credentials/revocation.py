"""Deletion of a CredentialRotation: its credentials are revoked first. Pure."""

from collections.abc import Sequence
from datetime import timedelta

from cobaltcore.api.credentials import CredentialRotationStatus
from cobaltcore.api.foreign import korc
from cobaltcore.engine import orphans
from cobaltcore.engine.plan import Event, Plan, Removal
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.operators.credentials.subject import RotationScope
from cobaltcore.runtime.meta import Object, key_of
from cobaltcore.runtime.timestamps import parse_timestamp

FINALIZER = "c5c3.io/revocation"
GRACE = timedelta(seconds=30)
"""A Keystone that is gone this long after the deletion does not come back for it."""


def plan(scope: RotationScope, owned: Sequence[Object]) -> Plan[CredentialRotationStatus]:
    """Delete the credentials; one whose Keystone is gone cannot be revoked by anybody."""
    if not owned:
        return Plan(verdict=Ready("Revoked"), done=True)
    removals = [
        Removal(korc.APPLICATION_CREDENTIAL, key_of(each))
        for each in owned
        if not each["metadata"].get("deletionTimestamp")
    ]
    orphaned = [each for each in owned if orphans.is_unreachable(scope.observed, each)]
    since = min((_age(scope, each) for each in orphaned), default=GRACE)
    over = [each for each in orphaned if _age(scope, each) >= GRACE]
    verdict = Waiting("Revoking", f"{len(owned)} application credentials are being revoked")
    return Plan(
        verdict=verdict,
        removals=removals,
        releases=list(orphans.releases(korc.APPLICATION_CREDENTIAL, over)),
        events=[_left(each) for each in over],
        after=GRACE - since if since < GRACE else None,
    )


def _age(scope: RotationScope, obj: Object) -> timedelta:
    """Time since it was deleted."""
    at = obj["metadata"].get("deletionTimestamp")
    return scope.now - parse_timestamp(at) if at else timedelta(0)


def _left(obj: Object) -> Event:
    name = obj["metadata"]["name"]
    expires = (obj["spec"].get("resource") or {}).get("expiresAt", "its user is deleted")
    text = (
        f"ApplicationCredential {name!r} was not revoked: its Keystone or its login is gone. "
        f"If the database is used again, it is valid until {expires}"
    )
    return Event("Warning", "NotRevoked", text)
