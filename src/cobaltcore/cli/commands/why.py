"""`cobalt why`: from an object to the first broken link, with the evidence and the next command."""

import argparse
from typing import Any

import uvloop

from cobaltcore.api.foreign.kubernetes import EVENT
from cobaltcore.cli import caches, connecting, gathering, output, subjects
from cobaltcore.engine.diagnosis import walk
from cobaltcore.engine.diagnosis.facts import Facts, Named
from cobaltcore.engine.diagnosis.walk import Broken
from cobaltcore.runtime import conditions

HELP = "explain why an object is not ready: the first broken link and the next command"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "object",
        metavar="KIND/NAME",
        help="for example ControlPlane/lab, Nova/nova, OVNCluster/ovn, Hypervisor/NODE",
    )
    connecting.configure(parser)
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")


def run(arguments: argparse.Namespace) -> int:
    """Explain; 0 also if the object is not ready, as long as it is found."""
    return uvloop.run(_run(arguments, subjects.parse(arguments.object)))


async def _run(arguments: argparse.Namespace, wanted: subjects.Wanted) -> int:
    async with connecting.connected(arguments) as client, caches.filled(client) as cached:
        extra = [arguments.namespace] if arguments.namespace else []
        found = await gathering.facts(client, cached, extra)
        subject = subjects.find(found, wanted, arguments.namespace)
        explain = walk.broken_hypervisor if wanted.is_hypervisor else walk.first_broken
        broken = explain(found, subject)
    label = Named(wanted.kind, subject.key)
    if arguments.output == "json":
        output.as_json(_json(found, label, broken))
    else:
        _print(found, label, broken)
    return 0


def _print(facts: Facts, subject: Named, broken: Broken | None) -> None:
    if broken is None:
        output.data(f"{subject} is ready")
        return
    output.data(f"{subject} is not ready: {broken.cause.message}")
    output.data("")
    output.data(f"reason: {broken.cause.reason}")
    output.data(f"path: {' → '.join(map(_short, (subject, *broken.path[1:])))}")
    for line in _evidence(facts, broken):
        output.data(f"evidence: {line}")
    if broken.cause.command:
        output.data(f"next: {broken.cause.command}")


def _json(facts: Facts, subject: Named, broken: Broken | None) -> dict[str, Any]:
    whole: dict[str, Any] = {"object": _reference(subject), "ready": broken is None}
    if broken is None:
        return whole
    cause = broken.cause
    return {
        **whole,
        "cause": {**_reference(cause.at), "reason": cause.reason, "message": cause.message},
        "path": [_reference(each) for each in (subject, *broken.path[1:])],
        "evidence": list(_evidence(facts, broken)),
        "next": cause.command,
    }


def _evidence(facts: Facts, broken: Broken) -> list[str]:
    """What the objects on the way report, and the newest warning about the last one."""
    found = []
    for each in broken.path:
        ready = conditions.find(conditions.of(facts.get(each.kind, each.key)), "Ready")
        if ready is not None and ready.status != "True" and ready.message:
            found.append(f"{_short(each)}: {ready.reason}: {ready.message}")
    warning = facts.warning(broken.path[-1])
    if warning:
        found.append(f"{EVENT.kind} of {_short(broken.path[-1])}: {warning}")
    return found


def _short(named: Named) -> str:
    return f"{named.kind.kind}/{named.key.name}"


def _reference(named: Named) -> dict[str, str]:
    place = {"namespace": named.key.namespace} if named.key.namespace else {}
    return {"kind": named.kind.kind, **place, "name": named.key.name}
