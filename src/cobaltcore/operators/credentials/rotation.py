"""CredentialRotation: an application credential that is replaced before it expires."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from cobaltcore.api import base
from cobaltcore.api.credentials import (
    ROTATION,
    Credential,
    CredentialRef,
    CredentialRotation,
    CredentialRotationStatus,
)
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.operator import Context
from cobaltcore.engine.sources import CONTENT, OPTIONAL
from cobaltcore.operators.credentials import generations
from cobaltcore.operators.credentials.generations import Generation, Subject
from cobaltcore.operators.credentials.subject import Missing, Subjects
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.clock import parse_timestamp, timestamp
from cobaltcore.runtime.controller import Controller, Source, owner, unless_told
from cobaltcore.runtime.meta import Condition, Key, Kind, Object
from cobaltcore.runtime.store import Change

MANAGER = "credential-rotation-controller"
IN_USE = "CredentialInUse"
SERVICES = tuple(
    each.kind for each in base.definitions() if each.kind.group.endswith(".openstack.c5c3.io")
)


@dataclass(slots=True)
class Told:
    """What a pass has to say."""

    known: list[Generation] = field(default_factory=list)
    current: Generation | None = None
    waiting: str = ""
    old: list[str] = field(default_factory=list)
    after: timedelta | None = None


class Rotation:
    """The controller of CredentialRotations."""

    def __init__(self, context: Context) -> None:
        self._cluster = context.cluster
        self._clock = context.clock
        self._applier = Applier(context.cluster, manager=MANAGER)
        self._subjects = Subjects(context.cluster)
        self.controller = Controller(
            "credentialrotation",
            self.reconcile,
            [
                Source(ROTATION, unless_told),
                Source(korc.APPLICATION_CREDENTIAL, owner(ROTATION), OPTIONAL),
                Source(korc.USER, self._neighbours, OPTIONAL),
                Source(korc.PROJECT, self._neighbours, OPTIONAL),
                Source(korc.ROLE_ASSIGNMENT, self._neighbours, OPTIONAL),
                Source(SECRET, self._concerned, CONTENT),
                *(Source(kind, self._neighbours) for kind in SERVICES),
            ],
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """One pass over one rotation."""
        live = self._cluster.informer(ROTATION).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        rotation = msgspec.convert(live, CredentialRotation)
        told = Told()
        try:
            await self._rotate(live, rotation, told)
        except Missing as missing:
            told.waiting = str(missing)
        await self._report(live, rotation, told)
        return told.after

    async def _rotate(self, live: Object, rotation: CredentialRotation, told: Told) -> None:
        subject, login = await self._subjects.of(rotation)
        await self._applier.apply([login], owner=live)
        told.known = await self._generations(live, subject)
        asked = _asked(rotation)
        now = self._clock.now()
        if not generations.due_in(rotation.spec, told.known, asked=asked, now=now):
            made = generations.successor(
                subject,
                rotation.spec,
                told.known,
                cloud_secret=login.key.name,
                now=now,
                random=os.urandom,
            )
            await self._applier.apply(made, owner=live)
            told.known = await self._generations(live, subject)
        told.after = generations.due_in(rotation.spec, told.known, asked=asked, now=now)
        before = rotation.status or CredentialRotationStatus()
        in_hand = before.current_credential_ref.name if before.current_credential_ref else ""
        told.current = generations.current(told.known, in_hand=in_hand)
        await self._remove(rotation, generations.superseded(told.known, told.current))
        if told.current is None:
            raise Missing(self._why(told.known[-1]) if told.known else "no credential yet")
        await self._applier.apply([generations.handed_out(subject, told.current)], owner=live)
        told.old = generations.still_old(told.known, told.current, self._reports(live))
        if not told.old:
            await self._retire(live, rotation, told)

    async def _retire(self, live: Object, rotation: CredentialRotation, told: Told) -> None:
        assert told.current is not None  # noqa: S101 the caller has seen it
        before = rotation.status or CredentialRotationStatus()
        known = conditions.find(before.conditions, IN_USE)
        of_this = before.current_credential_ref == CredentialRef(name=told.current.name)
        since = None
        if known is not None and known.status == "True" and of_this:
            since = parse_timestamp(known.last_transition_time)
        elif rotation.spec.grace_period_days == 0:
            since = self._clock.now()
        gone, stays = generations.outdated(
            told.known, told.current, rotation.spec, in_use_since=since, now=self._clock.now()
        )
        if stays is not None:
            told.after = min(told.after or stays, stays)
        await self._remove(rotation, gone)

    async def _remove(
        self, rotation: CredentialRotation, gone: Iterable[tuple[Kind, Key]]
    ) -> None:
        for kind, key in gone:
            child = Key(rotation.metadata.namespace, key.name)
            found = self._cluster.informer(kind).get(child)
            if found is not None and not found["metadata"].get("deletionTimestamp"):
                await self._cluster.client.delete(kind, child, uid=found["metadata"]["uid"])

    async def _secret(self, namespace: str, name: str) -> Object | None:
        return await self._cluster.read(SECRET, Key(namespace, name))

    async def _generations(self, live: Object, subject: Subject) -> list[Generation]:
        namespace = live["metadata"]["namespace"]
        owned = list(
            self._cluster.informer(korc.APPLICATION_CREDENTIAL).find(
                "owner", live["metadata"]["uid"]
            )
        )
        named = [each["metadata"]["name"] for each in owned]
        secrets = {name: await self._secret(namespace, name) for name in named}
        return generations.read(subject, owned, secrets)

    def _reports(self, live: Object) -> dict[str, str]:
        namespace = live["metadata"]["namespace"]
        return {
            f"{kind.kind} {obj['metadata']['name']!r}": id_
            for kind in SERVICES
            for obj in self._cluster.informer(kind).objects(namespace)
            if (id_ := (obj.get("status") or {}).get("applicationCredentialID"))
        }

    def _why(self, newest: Generation) -> str:
        if newest.lacking:
            return (
                f"ApplicationCredential {newest.name!r} lacks a role of its user: one more is made"
            )
        return f"ApplicationCredential {newest.name!r} is not Available yet"

    def _neighbours(self, change: Change) -> Iterator[Key]:
        """All rotations of the namespace: they are few."""
        for obj in self._cluster.informer(ROTATION).objects(change.key.namespace):
            yield Key(change.key.namespace, obj["metadata"]["name"])

    def _concerned(self, change: Change) -> Iterable[Key]:
        yield from owner(ROTATION)(change)
        for user in self._cluster.informer(korc.USER).objects(change.key.namespace):
            spec = user["spec"]
            used = {
                (spec.get("resource") or {}).get("passwordRef"),
                spec["cloudCredentialsRef"]["secretName"],
            }
            if change.key.name in used:
                yield from self._rotations_of(user)

    def _rotations_of(self, user: Object) -> Iterator[Key]:
        meta = user["metadata"]
        for obj in self._cluster.informer(ROTATION).objects(meta["namespace"]):
            if obj["spec"]["targetServiceUser"] == meta["name"]:
                yield Key(meta["namespace"], obj["metadata"]["name"])

    async def _report(self, live: Object, rotation: CredentialRotation, told: Told) -> None:
        generation = live["metadata"]["generation"]
        before = rotation.status or CredentialRotationStatus()
        after = CredentialRotationStatus(
            conditions=conditions.merge(
                before.conditions,
                _conditions(told),
                now=self._clock.now(),
                generation=generation,
            ),
            observed_generation=generation,
            **_facts(rotation, told),
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, ROTATION, live, built, manager=MANAGER)


def _asked(rotation: CredentialRotation) -> datetime | None:
    """The time that somebody asks to rotate at; whole seconds, as credentials remember theirs."""
    text = rotation.metadata.annotations.get(generations.ROTATE_AFTER)
    if text is None:
        return None
    try:
        return parse_timestamp(text).replace(microsecond=0)
    except ValueError:
        raise Missing(
            f"annotation {generations.ROTATE_AFTER}: {text!r} is no time like 2026-01-31T12:00:00Z"
        ) from None


def _facts(rotation: CredentialRotation, told: Told) -> dict[str, Any]:
    if told.current is None:
        return {}
    made = timestamp(told.current.made_at)
    older = [each for each in told.known if each.number < told.current.number]
    return {
        "last_rotation": made,
        "next_rotation": timestamp(generations.next_rotation(rotation.spec, told.current)),
        "current_credential_ref": CredentialRef(name=told.current.name),
        "current_credential": Credential(
            id=told.current.id, created_at=made, expires_at=told.current.expires_at
        ),
        "previous_credential_ref": CredentialRef(name=older[-1].name) if older else None,
    }


def _conditions(told: Told) -> list[Condition]:
    if told.current is None:
        return [
            Condition(type="Ready", status="False", reason="NotIssued", message=told.waiting),
            Condition(type="RotationScheduled", status="False", reason="NotIssued"),
            Condition(type=IN_USE, status="False", reason="NotIssued"),
        ]
    in_use = Condition(type=IN_USE, status="True", reason="AllServicesUseIt")
    if told.old:
        text = f"{', '.join(told.old)} still use the predecessor"
        in_use = Condition(type=IN_USE, status="False", reason="RollingOut", message=text)
    return [
        Condition(type="Ready", status="True", reason="Issued"),
        Condition(type="RotationScheduled", status="True", reason="Scheduled"),
        in_use,
    ]
