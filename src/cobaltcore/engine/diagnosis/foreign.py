"""Objects of others, such as a MariaDB or a Certificate: their conditions, and what they own. Pure."""

from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    STATEFUL_SET,
)
from cobaltcore.engine.diagnosis import commands, operators, webhooks
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Object
from cobaltcore.runtime.timestamps import parse_timestamp

HEALTH = ("Ready", "AllReplicasReady", "Available")
"""Conditions by which operators report that an object works."""
WORKLOADS = (STATEFUL_SET, DEPLOYMENT, DAEMON_SET, JOB, PERSISTENT_VOLUME_CLAIM)


def inspect(facts: Facts, named: Named) -> Inspection | None:
    if named.kind in facts.unserved:
        return Inspection(unserved(named))
    found = facts.get(named.kind, named.key)
    if found is None:
        text = f"{named} does not exist"
        return Inspection(Cause(named, "NotFound", text, commands.kubectl(named, "get", "events")))
    if (expired := _expired(facts, named, found)) is not None:
        return Inspection(expired)
    return _reported(facts, named, found)


def _reported(facts: Facts, named: Named, found: Object) -> Inspection | None:
    reported = [each for each in conditions.of(found) if each.type in HEALTH]
    if not reported:
        return _unreported(facts, named, found)
    broken = next((each for each in reported if each.status != "True"), None)
    if broken is None:
        return None
    reason = broken.reason or "NotReady"
    text = f"{named}: {broken.message or f'{broken.type} is {broken.status}'}"
    return Inspection(
        Cause(named, reason, text, commands.describe(named), is_symptom=True),
        [*facts.owned(found, WORKLOADS), *webhooks.called_in(facts, text)],
    )


def unserved(named: Named) -> Cause:
    """The CRD of a kind is missing."""
    kind = named.kind
    return Cause(
        named,
        "KindMissing",
        f"the API server does not serve {kind.kind} ({kind.api_version}): its CRD is missing",
        f"kubectl get crd {kind}",
    )


def _unreported(facts: Facts, named: Named, found: Object) -> Inspection | None:
    """Nothing is known of it: plain objects have no conditions, others wait for their operator."""
    is_builtin = "." not in named.kind.group or named.kind.group.endswith(".k8s.io")
    if is_builtin or "spec" not in found:
        return None
    text = f"{named} has not reported a status: its operator does not work on it"
    cause = Cause(named, "NotReported", text, commands.describe(named))
    return Inspection(cause, operators.stopped(facts))


def _expired(facts: Facts, named: Named, found: Object) -> Cause | None:
    if named.kind != certmanager.CERTIFICATE:
        return None
    until = (found.get("status") or {}).get("notAfter")
    if not until or parse_timestamp(until) > facts.now:
        return None
    text = f"{named} expired at {until}"
    return Cause(named, "Expired", text, commands.describe(named))
