"""CredentialRotation: an application credential that is replaced before it expires. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cobaltcore.api import base
from cobaltcore.api.credentials import (
    Credential,
    CredentialRef,
    CredentialRotation,
    CredentialRotationStatus,
)
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine import watches
from cobaltcore.engine.plan import Plan, Removal
from cobaltcore.engine.planner import Child, Planner, Watch
from cobaltcore.engine.verdict import DependencyPending, Ready, Verdict, Waiting, condition
from cobaltcore.engine.watches import CONTENT, OPTIONAL
from cobaltcore.operators.credentials import generations, revocation, subject
from cobaltcore.operators.credentials.generations import Generation, Subject
from cobaltcore.operators.credentials.subject import NOT_ISSUED, RotationScope
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind, Object, ownership
from cobaltcore.runtime.store import Change
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp

if TYPE_CHECKING:
    from cobaltcore.runtime.cluster import Cluster
    from cobaltcore.runtime.controller import KeysOf

IN_USE = "CredentialInUse"
SERVICES = tuple(
    each.kind for each in base.definitions() if each.kind.group.endswith(".openstack.c5c3.io")
)


class RotationPlanner(Planner[RotationScope]):
    """Creates generations of a credential and removes the old ones."""

    name = "credentialrotation"
    manager = "credential-rotation-controller"
    resource = CredentialRotation
    scope = RotationScope
    finalizer = revocation.FINALIZER
    teardown_spec: Mapping[str, object] = {"targetServiceUser": "unknown"}
    children = (
        Child(korc.APPLICATION_CREDENTIAL, OPTIONAL),
        Child(SECRET, CONTENT, pruned=False),
    )

    def __init__(self) -> None:
        self.watches = (
            watches.in_namespace(korc.USER, OPTIONAL),
            watches.in_namespace(korc.PROJECT, OPTIONAL),
            watches.in_namespace(korc.ROLE_ASSIGNMENT, OPTIONAL),
            Watch(SECRET, _rotations_of_secret, CONTENT),
            *(watches.in_namespace(kind) for kind in SERVICES),
        )

    def contents(self, scope: RotationScope) -> Iterator[tuple[Kind, Key]]:
        yield from subject.contents(scope)
        for each in _owned(scope):
            yield SECRET, scope.sibling(each["metadata"]["name"])
            yield SECRET, scope.sibling(each["spec"]["cloudCredentialsRef"]["secretName"])

    def teardown(self, scope: RotationScope) -> Plan[CredentialRotationStatus]:
        return revocation.plan(scope, _owned(scope))

    def plan(self, scope: RotationScope) -> Plan[CredentialRotationStatus]:
        status = scope.status or CredentialRotationStatus()
        try:
            user, login = subject.of(scope)
            due = generations.due_in(
                scope.spec, _generations(scope, user), asked=_asked(scope), now=scope.now
            )
        except DependencyPending as pending:
            return Plan(
                verdict=pending.verdict, conditions=_not_issued(pending.verdict), status=status
            )
        known = _generations(scope, user)
        in_hand = status.current_credential_ref.name if status.current_credential_ref else ""
        current = generations.current(known, in_hand=in_hand)
        objects = [login]
        if not due:
            objects += _successor(scope, user, known, login)
        removals = _removals(scope, generations.superseded(known, current))
        if current is None:
            verdict = Waiting(NOT_ISSUED, _why(known))
            return Plan(
                verdict=verdict,
                conditions=_not_issued(verdict),
                status=CredentialRotationStatus(),
                objects=objects,
                removals=removals,
                after=due or None,
            )
        users = _users_of_older(scope, known, current)
        gone, stays = ([], None) if users else _outdated(scope, known, current)
        return Plan(
            verdict=Ready("Issued"),
            conditions=[condition("RotationScheduled", Ready("Scheduled")), _in_use(users)],
            status=_status(scope, known, current),
            objects=[*objects, generations.handed_out(user, current)],
            removals=[*removals, *_removals(scope, gone)],
            after=min((each for each in (due, stays) if each), default=None),
        )


def _owned(scope: RotationScope) -> list[Object]:
    return scope.observed.find(korc.APPLICATION_CREDENTIAL, "owner", ownership(scope.live))


def _generations(scope: RotationScope, user: Subject) -> list[Generation]:
    owned = _owned(scope)
    names = [each["metadata"]["name"] for each in owned]
    secrets = {name: scope.observed.content(SECRET, scope.sibling(name)) for name in names}
    return generations.read(user, owned, secrets)


def _successor(
    scope: RotationScope, user: Subject, known: Sequence[Generation], login: Desired
) -> list[Desired]:
    return generations.successor(
        user,
        scope.spec,
        known,
        cloud_secret=login.key.name,
        now=scope.now,
        random=scope.random,
    )


def _asked(scope: RotationScope) -> datetime | None:
    """When a rotation is requested by annotation; whole seconds, like creation times."""
    text = scope.resource.metadata.annotations.get(generations.ROTATE_AFTER)
    if text is None:
        return None
    try:
        return parse_timestamp(text).replace(microsecond=0)
    except ValueError:
        raise subject.pending(
            f"annotation {generations.ROTATE_AFTER}: {text!r} is not a time "
            "like 2026-01-31T12:00:00Z"
        ) from None


def _users_of_older(
    scope: RotationScope, known: Sequence[Generation], current: Generation
) -> list[str]:
    """Services whose pods use a predecessor of the current credential."""
    reports = {
        f"{kind.kind} {obj['metadata']['name']!r}": id_
        for kind in SERVICES
        for obj in scope.observed.list(kind, scope.namespace)
        if (id_ := (obj.get("status") or {}).get("applicationCredentialID"))
    }
    return generations.still_old(known, current, reports)


def _outdated(
    scope: RotationScope, known: Sequence[Generation], current: Generation
) -> tuple[list[tuple[Kind, Key]], timedelta | None]:
    """Predecessors that may be deleted now, or how long they stay."""
    before = scope.status or CredentialRotationStatus()
    reported = conditions.find(before.conditions, IN_USE)
    since = None
    if before.current_credential_ref == CredentialRef(name=current.name) and (
        reported is not None and reported.status == "True"
    ):
        since = parse_timestamp(reported.last_transition_time)
    elif scope.spec.grace_period_days == 0:
        since = scope.now
    return generations.outdated(known, current, scope.spec, in_use_since=since, now=scope.now)


def _removals(scope: RotationScope, gone: Iterable[tuple[Kind, Key]]) -> list[Removal]:
    return [Removal(kind, scope.sibling(key.name)) for kind, key in gone]


def _status(
    scope: RotationScope, known: Sequence[Generation], current: Generation
) -> CredentialRotationStatus:
    created = timestamp(current.created_at)
    older = [each for each in known if each.number < current.number]
    return CredentialRotationStatus(
        last_rotation=created,
        next_rotation=timestamp(generations.next_rotation(scope.spec, current)),
        current_credential_ref=CredentialRef(name=current.name),
        current_credential=Credential(
            id=current.id, created_at=created, expires_at=current.expires_at
        ),
        previous_credential_ref=CredentialRef(name=older[-1].name) if older else None,
    )


def _not_issued(verdict: Verdict) -> list[Condition]:
    pending = Waiting(NOT_ISSUED, verdict.message)
    return [condition(type_, pending) for type_ in ("RotationScheduled", IN_USE)]


def _in_use(users_of_older: Sequence[str]) -> Condition:
    if users_of_older:
        text = f"{', '.join(users_of_older)} still use the predecessor"
        return condition(IN_USE, Waiting("RollingOut", text))
    return condition(IN_USE, Ready("AllServicesUseIt"))


def _why(known: Sequence[Generation]) -> str:
    if not known:
        return "the first credential is being created"
    newest = known[-1]
    if newest.lacking:
        return f"ApplicationCredential {newest.name!r} lacks a role of its user: replacing it"
    return f"ApplicationCredential {newest.name!r} is not Available yet"


def _rotations_of_secret(cluster: "Cluster", own: Kind) -> "KeysOf":
    """Rotations of users whose password or login is in the changed Secret."""

    def keys(change: Change) -> Iterator[Key]:
        for user in cluster.informer(korc.USER).objects(change.key.namespace):
            spec = user["spec"]
            password = (spec.get("resource") or {}).get("passwordRef")
            if change.key.name in (password, spec["cloudCredentialsRef"]["secretName"]):
                yield from _rotations_of(cluster, own, user)

    return keys


def _rotations_of(cluster: "Cluster", own: Kind, user: Object) -> Iterator[Key]:
    meta = user["metadata"]
    for obj in cluster.informer(own).objects(meta["namespace"]):
        if obj["spec"]["targetServiceUser"] == meta["name"]:
            yield Key(meta["namespace"], obj["metadata"]["name"])
