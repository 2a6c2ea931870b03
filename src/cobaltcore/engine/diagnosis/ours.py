"""Objects of ours: what they report, and the part or step of their plan that is not ready. Pure."""

from collections.abc import Iterator

from cobaltcore.api import base
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.engine.diagnosis import commands, foreign, operators, pods, webhooks
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named
from cobaltcore.engine.plan import Link, Plan
from cobaltcore.engine.verdict import FAILED, STALLED, Blocked, Ready
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Kind, Object


def is_ours(kind: Kind) -> bool:
    return any(each.kind == kind for each in base.definitions())


def inspect(facts: Facts, named: Named) -> Inspection | None:
    found = facts.get(named.kind, named.key)
    if named.kind in facts.unserved:
        return Inspection(foreign.unserved(named))
    if found is None:
        text = f"{named} does not exist"
        command = commands.kubectl(named, "get", str(named.kind))
        return Inspection(Cause(named, "NotFound", text, command), _owners(facts, named))
    if found["metadata"].get("deletionTimestamp"):
        return _deleting(facts, named, found)
    return _reported(facts, named, found)


def _reported(facts: Facts, named: Named, found: Object) -> Inspection | None:
    reported = conditions.find(conditions.of(found), "Ready")
    if reported is None or _is_outdated(found, reported):
        return _unobserved(facts, named, found, reported)
    if reported.status == "True":
        return None
    if reported.reason == FAILED:
        return _failed(facts, named, reported)
    return _unready(facts, named, found, reported)


def _is_outdated(found: Object, reported: Condition) -> bool:
    return reported.observed_generation not in (None, found["metadata"].get("generation"))


def _unobserved(
    facts: Facts, named: Named, found: Object, reported: Condition | None
) -> Inspection | None:
    """No operator works on it: it does not run, or a kind that it needs is missing."""
    if named not in facts.prospects and reported is None:
        # A kind that no operator of this release serves.
        return None
    what = "has not reported Ready yet" if reported is None else "its newest spec is not observed"
    if facts.required:
        missing = Named(min(facts.required), named.key)
        cause = foreign.unserved(missing)
        text = f"{named}: {what}: operators cannot start: {cause.message}"
        return Inspection(Cause(named, cause.reason, text, cause.command))
    below = operators.stopped(facts)
    if below or not facts.platform:
        text = f"{named}: {what}: no operator is running"
    else:
        text = f"{named}: {what}"
    reason = "NotReported" if reported is None else "NotObserved"
    command = "cobalt status" if below or facts.platform else "cobalt run"
    return Inspection(Cause(named, reason, text, command), below)


def _deleting(facts: Facts, named: Named, found: Object) -> Inspection:
    """What holds up a deletion."""
    held = ", ".join(found["metadata"].get("finalizers") or ())
    plan = facts.plan(named)
    why = plan.verdict.message if plan is not None and not plan.ready else f"finalizers: {held}"
    text = f"{named} is being deleted: {why}"
    below = [Named(each.kind, each.key) for each in plan.removals] if plan is not None else []
    stuck = [each for each in below if _is_deleting(facts, each)]
    return Inspection(Cause(named, "Deleting", text, commands.describe(named)), stuck)


def _is_deleting(facts: Facts, named: Named) -> bool:
    found = facts.get(named.kind, named.key)
    return bool(found and found["metadata"].get("deletionTimestamp"))


def _failed(facts: Facts, named: Named, reported: Condition) -> Inspection:
    """The operator met an error, which names the cause."""
    text = f"{named}: {reported.message}"
    cause = Cause(named, reported.reason, text, commands.describe(named))
    missing = sorted(kind for kind in facts.unserved if f"{kind.kind} (" in reported.message)
    below = [Named(kind, named.key) for kind in missing]
    return Inspection(cause, [*below, *webhooks.called_in(facts, reported.message)])


def _unready(facts: Facts, named: Named, found: Object, reported: Condition) -> Inspection:
    stalled = conditions.is_true(conditions.of(found), STALLED)
    command = commands.edit(named) if stalled else commands.describe(named)
    prospect, plan = facts.prospects.get(named), facts.plan(named)
    link = next((each for each in plan.links if each.is_broken), None) if plan else None
    reason, message = reported.reason, reported.message
    if link is not None and prospect is not None and not prospect.has_probes:
        reason, message = link.verdict.reason, f"{link.name}: {link.verdict.message}"
    is_symptom = not stalled and not _is_final(link)
    cause = Cause(named, reason, f"{named}: {message}", command, is_symptom=is_symptom)
    if stalled and isinstance(link.verdict if link else None, Blocked):
        return Inspection(cause)
    if plan is None or prospect is None:
        return Inspection(cause, depends_on=list(pods.program_failed(message)))
    return Inspection(
        cause,
        [*_objects(plan, link), *_missing(facts, named, cause.message)],
        [*_named(facts, named), *_owners(facts, named), *pods.program_failed(message)],
    )


def _is_final(link: Link | None) -> bool:
    """Whether the verdict is about the object itself: a Secret without a key, for example."""
    return link is not None and "has no key" in link.verdict.message


def _objects(plan: Plan[object], link: Link | None) -> Iterator[Named]:
    """What the broken part or step consists of."""
    objects = link.objects if link is not None else plan.objects
    for each in objects:
        if each.kind not in (SECRET, CONFIG_MAP):
            yield Named(each.kind, each.key)


def _missing(facts: Facts, named: Named, message: str) -> Iterator[Named]:
    """Secrets that the verdict is about."""
    for kind, key in facts.prospects[named].named:
        if kind == SECRET and f"Secret {key.name!r}" in message:
            yield Named(SECRET, key)


def _named(facts: Facts, named: Named) -> Iterator[Named]:
    """What the spec names: backing services, and certificates, which expire."""
    for kind, key in facts.prospects[named].named:
        if key in facts.expiries or kind not in (SECRET, CONFIG_MAP):
            yield Named(kind, key)


def _owners(facts: Facts, named: Named) -> list[Named]:
    """Parts of the owner that this object waits for: they come first."""
    found: list[Named] = []
    for owner, prospect in facts.prospects.items():
        links = {each.name: each for each in prospect.plan.links}
        own = next((each for each in links.values() if _has(each, named)), None)
        if own is None:
            continue
        for name in own.waits_for:
            found += _blockers(links, name)
        found = [each for each in found if each not in (owner, named)]
    return found


def _blockers(links: dict[str, Link], name: str) -> Iterator[Named]:
    """Objects of the parts at the beginning of what a part waits for."""
    link = links.get(name)
    if link is None or isinstance(link.verdict, Ready):
        return
    if link.is_broken:
        for each in link.objects:
            if each.kind not in (SECRET, CONFIG_MAP):
                yield Named(each.kind, each.key)
    for needed in link.waits_for:
        yield from _blockers(links, needed)


def _has(link: Link, named: Named) -> bool:
    return any((each.kind, each.key) == (named.kind, named.key) for each in link.objects)
