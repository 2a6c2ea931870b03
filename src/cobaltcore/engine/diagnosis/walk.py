"""From an object to the first broken link below it. Pure.

Every kind has an inspection: None if the object works, otherwise what it depends on and what to
report if all of that works.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    MUTATING_WEBHOOK_CONFIGURATION,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.engine.diagnosis import (
    foreign,
    nodes,
    ours,
    pods,
    secrets,
    services,
    volumes,
    webhooks,
    workloads,
)
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named
from cobaltcore.runtime.meta import Kind

Inspect = Callable[[Facts, Named], Inspection | None]

KINDS: Mapping[Kind, Inspect] = {
    DEPLOYMENT: workloads.inspect,
    STATEFUL_SET: workloads.inspect,
    DAEMON_SET: workloads.inspect,
    JOB: workloads.inspect_job,
    POD: pods.inspect,
    NODE: nodes.inspect,
    PERSISTENT_VOLUME_CLAIM: volumes.inspect,
    SECRET: secrets.inspect,
    SERVICE: services.inspect,
    MUTATING_WEBHOOK_CONFIGURATION: webhooks.inspect,
    VALIDATING_WEBHOOK_CONFIGURATION: webhooks.inspect,
}


class Broken(NamedTuple):
    """The way from an object to the first broken link."""

    path: tuple[Named, ...]
    cause: Cause


def first_broken(
    facts: Facts, start: Named, seen: frozenset[Named] = frozenset()
) -> Broken | None:
    """The first broken link, or None if the object works.

    A program that fails is a cause only if everything works that it depends on.
    """
    found = _inspection(start)(facts, start)
    if found is None:
        return None
    own = _first(facts, start, found.below, seen) or Broken((start,), found.cause)
    if not own.cause.is_symptom:
        return own
    return _first(facts, start, found.depends_on, seen) or own


def _first(
    facts: Facts, start: Named, candidates: Sequence[Named], seen: frozenset[Named]
) -> Broken | None:
    """The first of some objects that is broken, rather one whose cause is certain."""
    symptom: Broken | None = None
    for each in candidates:
        if each in seen or each == start:
            continue
        deeper = first_broken(facts, each, seen | {start})
        if deeper is None:
            continue
        broken = Broken((start, *deeper.path), deeper.cause)
        if not deeper.cause.is_symptom:
            return broken
        symptom = symptom or broken
    return symptom


def broken_hypervisor(facts: Facts, node: Named) -> Broken | None:
    """The first broken link of a hypervisor: the Node, then everything of ours on it."""
    found = nodes.inspect_hypervisor(facts, node)
    if found is not None:
        return Broken((node,), found.cause)
    for each in nodes.of_hypervisor(facts, node):
        deeper = first_broken(facts, each, frozenset({node}))
        if deeper is not None:
            return Broken((node, *deeper.path), deeper.cause)
    return None


def _inspection(named: Named) -> Inspect:
    if ours.is_ours(named.kind):
        return ours.inspect
    return KINDS.get(named.kind, foreign.inspect)
