"""Application credentials of one user, generation after generation. Pure.

A generation is a K-ORC ApplicationCredential and a Secret of the same name with the secret half.
The newest one that Keystone knows is handed out; its predecessor is deleted when every service reports
that it uses the new one, and the grace period is over.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from cobaltcore.api.credentials import CredentialRotationSpec
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import secret
from cobaltcore.runtime.meta import Desired, Key, Kind, Object
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp

CREATED_AT = "c5c3.io/created-at"
ROTATE_AFTER = "c5c3.io/rotate-after"
"""Annotation of a CredentialRotation: a credential that is older than this time is replaced now."""
SECRET_BYTES = 32
ANOTHER_TRY = timedelta(seconds=5)
CLOUD = "openstack"


@dataclass(frozen=True, slots=True)
class Generation:
    """One credential as it is."""

    number: int
    name: str
    created_at: datetime
    id: str = ""
    expires_at: str = ""
    secret: str = field(default="", repr=False)
    leaving: bool = False
    lacking: bool = False
    """Whether its user has a role that it does not have."""

    @property
    def usable(self) -> bool:
        """Whether Keystone knows it and we have its secret half."""
        return bool(self.id and self.secret) and not self.leaving


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose credentials they are."""

    rotation: Key
    user: str
    """The K-ORC User."""
    username: str
    login: str
    """The Secret with which the user logs in to make its own credentials."""
    labels: Mapping[str, str]
    roles: frozenset[str] = frozenset()
    """Ids of the roles that the user has."""

    @property
    def credential(self) -> str:
        """The Secret with the credential in use."""
        return f"{self.username}-app-credential"

    def name(self, number: int) -> str:
        """A generation's name."""
        return f"{self.credential}-v{number}"


def read(
    subject: Subject, objects: Iterable[Object], secrets: Mapping[str, Object | None]
) -> list[Generation]:
    """The generations that exist, oldest first."""
    found = []
    for obj in objects:
        meta = obj["metadata"]
        status = obj.get("status") or {}
        available = any(
            each["type"] == "Available" and each["status"] == "True"
            for each in status.get("conditions") or ()
        )
        found.append(
            Generation(
                number=int(meta["name"].rpartition("-v")[2]),
                name=meta["name"],
                created_at=parse_timestamp(meta["annotations"][CREATED_AT]),
                id=status.get("id", "") if available else "",
                expires_at=obj["spec"]["resource"].get("expiresAt", ""),
                secret=secret.text(secrets.get(meta["name"]), "value") or "",
                leaving="deletionTimestamp" in meta,
                lacking=_is_lacking(subject.roles, status),
            )
        )
    return sorted(found, key=lambda each: each.number)


def _is_lacking(roles: frozenset[str], status: Mapping[str, Any]) -> bool:
    """A credential has the roles that Keystone knew of when it was created, and its caches may be late."""
    reported = (status.get("resource") or {}).get("roles")
    return reported is not None and not roles <= {each.get("id") for each in reported}


def current(known: Sequence[Generation], *, in_hand: str = "") -> Generation | None:
    """The one that is handed out: the newest with all roles, else the one that services have."""
    usable = [each for each in reversed(known) if each.usable]
    whole = [each for each in usable if not each.lacking]
    return next(iter([*whole, *(each for each in usable if each.name == in_hand)]), None)


def next_rotation(spec: CredentialRotationSpec, generation: Generation) -> datetime:
    """When its successor is created."""
    days = spec.schedule.interval_days - spec.schedule.pre_rotation_days
    return generation.created_at + timedelta(days=days)


def due_in(
    spec: CredentialRotationSpec,
    known: Sequence[Generation],
    *,
    asked: datetime | None,
    now: datetime,
) -> timedelta:
    """When a new generation has to be created: at once if there is none, else at its time or if asked."""
    staying = [each for each in known if not each.leaving]
    if not staying:
        return timedelta(0)
    newest = staying[-1]
    times = [next_rotation(spec, newest)]
    if newest.lacking:
        tries = newest.number - max(
            (each.number for each in staying if not each.lacking), default=0
        )
        times.append(newest.created_at + ANOTHER_TRY * tries)
    if asked is not None and newest.created_at < asked:
        times.append(asked)
    return max(min(times) - now, timedelta(0))


def successor(
    subject: Subject,
    spec: CredentialRotationSpec,
    known: Sequence[Generation],
    *,
    cloud_secret: str,
    now: datetime,
    random: Callable[[int], bytes],
) -> list[Desired]:
    """A new generation: its secret half first."""
    number = known[-1].number + 1 if known else 1
    key = Key(subject.rotation.namespace, subject.name(number))
    value = base64.urlsafe_b64encode(random(SECRET_BYTES)).decode()
    expires = now + timedelta(days=spec.schedule.interval_days)
    wanted: korc.ApplicationCredentialSpec = korc.Spec(
        cloud_credentials_ref=korc.CloudCredentialsRef(cloud_name=CLOUD, secret_name=cloud_secret),
        resource=korc.ApplicationCredentialResource(
            name=key.name,
            description=f"created for {subject.username}",
            user_ref=subject.user,
            secret_ref=key.name,
            expires_at=timestamp(expires),
        ),
        resync_period=korc.RESYNC_PERIOD,
    )
    meta = {
        "name": key.name,
        "namespace": key.namespace,
        "labels": dict(subject.labels),
        "annotations": {CREATED_AT: timestamp(now)},
    }
    body = {"metadata": meta, "spec": msgspec.to_builtins(wanted)}
    return [
        secret.secret(key, {"value": value}, labels=subject.labels)._replace(once=True),
        Desired(korc.APPLICATION_CREDENTIAL, body, once=True),
    ]


def handed_out(subject: Subject, generation: Generation) -> Desired:
    """The Secret that services get the credential from."""
    return secret.secret(
        Key(subject.rotation.namespace, subject.credential),
        {
            "application_credential_id": generation.id,
            "application_credential_secret": generation.secret,
        },
        labels=subject.labels,
    )


def still_old(
    known: Sequence[Generation], current: Generation, reports: Mapping[str, str]
) -> list[str]:
    """Services that report an older generation than the current one; `reports`: service to id."""
    older = {each.id for each in known if each.number < current.number and each.id}
    return sorted(service for service, id_ in reports.items() if id_ in older)


def outdated(
    known: Sequence[Generation],
    current: Generation,
    spec: CredentialRotationSpec,
    *,
    in_use_since: datetime | None,
    now: datetime,
) -> tuple[list[tuple[Kind, Key]], timedelta | None]:
    """Predecessors that may go now, as objects of no namespace yet, or how long they stay."""
    older = [each for each in known if each.number < current.number]
    if not older or in_use_since is None:
        return [], None
    stays = in_use_since + timedelta(days=spec.grace_period_days) - now
    if stays > timedelta(0):
        return [], stays
    return _objects(older), None


def superseded(known: Sequence[Generation], current: Generation | None) -> list[tuple[Kind, Key]]:
    """Failed tries but the last: lacking ones after the current one, so no consumer has received them.

    A lacking one before it may have been whole when it was handed out: pods still roll.
    """
    newest = current.number if current else 0
    tries = [each for each in known if not each.leaving and each.lacking and each.number > newest]
    return _objects(tries[:-1])


def _objects(gone: Iterable[Generation]) -> list[tuple[Kind, Key]]:
    return [
        (kind, Key("", each.name))
        for each in gone
        for kind in (korc.APPLICATION_CREDENTIAL, SECRET)
    ]
