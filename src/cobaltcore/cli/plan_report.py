"""The outcome of a dry run, for people and for machines."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.cli import output
from cobaltcore.engine.diagnosis.ours import is_ours
from cobaltcore.engine.dryrun import changes, impact
from cobaltcore.engine.dryrun.changes import Change
from cobaltcore.engine.dryrun.driver import Driver, Refusal
from cobaltcore.engine.redact import redactor
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.dryrun import DryRunClient
from cobaltcore.runtime.meta import Key, Kind, Object, key_of

MARKS = {"create": "+", "change": "~", "delete": "-"}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a dry run found."""

    changes: list[Change]
    restarts: list[impact.Restart]
    runs: list[impact.Run]
    interruptions: list[str]
    refusals: list[Refusal]


async def report(client: DryRunClient, cluster: Cluster, driver: Driver) -> Report:
    """What a dry run changed; values of Secrets are hidden wherever they are."""
    redact = redactor(await _secrets(client, cluster))
    found = changes.changes(client.writes, await _predecessors(client, cluster), redact)
    refusals = [Refusal(each.kind, each.key, redact(each.message)) for each in driver.refusals]
    return Report(
        found,
        impact.restarts(found),
        impact.runs(found),
        list(impact.interruptions(found)),
        refusals,
    )


async def _secrets(client: DryRunClient, cluster: Cluster) -> dict[tuple[Kind, Key], Object]:
    """Secrets with content: all that was read or would be written."""
    known = cluster.informer(SECRET).objects()
    found = {(SECRET, key_of(each)): await cluster.read(SECRET, key_of(each)) for each in known}
    written = {each: obj for each, obj in client.local.items() if each[0] == SECRET}
    return {each: obj for each, obj in {**found, **written}.items() if obj is not None}


async def _predecessors(client: DryRunClient, cluster: Cluster) -> dict[Key, Object]:
    """The newest ConfigMap of the same name but its digest, for each new one."""
    created = [w.key for w in client.writes if w.kind == CONFIG_MAP and w.outcome == "created"]
    found = {}
    for key in created:
        before = [
            each
            for each in cluster.informer(CONFIG_MAP).objects(key.namespace)
            if key_of(each) not in created and _prefix(key_of(each)) == _prefix(key)
        ]
        newest = max(before, key=lambda each: each["metadata"]["creationTimestamp"], default=None)
        whole = await cluster.read(CONFIG_MAP, key_of(newest)) if newest is not None else None
        if whole is not None:
            found[key] = whole
    return found


def _prefix(key: Key) -> str:
    return key.name.rpartition("-")[0]


def show(found: Report) -> None:
    """Print it for people."""
    for each in found.changes:
        place = f"  (namespace {each.key.namespace})" if each.key.namespace else ""
        output.data(f"{MARKS[each.verb]} {_title(each.kind, each.key)}{place}")
        for field in each.fields:
            output.data(f"    {field.path}: {field.before} → {field.after}")
        for line in each.lines:
            output.data(f"    {line}")
    _section("Restarts, in this order:", [_restart(each) for each in found.restarts])
    _section("Jobs:", [_job(each) for each in found.runs])
    _section("Interruptions:", found.interruptions)
    _section("Would fail:", [f"{_title(r.kind, r.key)}: {r.message}" for r in found.refusals])
    output.data(_summary(found))


def _section(title: str, lines: Iterable[str]) -> None:
    shown = list(lines)
    if shown:
        output.data(f"\n{title}")
        for each in shown:
            output.data(f"  {each}")


def _restart(each: impact.Restart) -> str:
    pods = "1 pod" if each.pods == 1 else f"{each.pods} pods"
    return f"{each.kind.kind}/{each.key.name} ({pods}): {each.impact}"


def _job(each: impact.Run) -> str:
    return f"Job/{each.key.name}" + (": migrates databases" if each.is_migration else "")


def _summary(found: Report) -> str:
    if not found.changes:
        return "Nothing would change." if not found.refusals else ""
    numbers = {v: sum(each.verb == v for each in found.changes) for v in MARKS}
    text = ", ".join(f"{number} to {verb}" for verb, number in numbers.items() if number)
    calm = "" if found.interruptions else " No interruption of an API is expected."
    return f"\n{text[0].upper()}{text[1:]}.{calm}"


def as_data(found: Report) -> dict[str, Any]:
    """The same for machines; in order, secrets hidden."""
    return {
        "changes": [
            {
                "action": each.verb,
                **_reference(each.kind, each.key),
                "fields": [
                    {"path": f.path, "before": f.before, "after": f.after} for f in each.fields
                ],
                "lines": list(each.lines),
            }
            for each in found.changes
        ],
        "restarts": [
            {**_reference(each.kind, each.key), "pods": each.pods, "impact": each.impact}
            for each in found.restarts
        ],
        "jobs": [
            {
                "namespace": each.key.namespace,
                "name": each.key.name,
                "migration": each.is_migration,
            }
            for each in found.runs
        ],
        "interruptions": found.interruptions,
        "failures": [
            {**_reference(each.kind, each.key), "message": each.message} for each in found.refusals
        ],
    }


def _reference(kind: Kind, key: Key) -> dict[str, str]:
    place = {"namespace": key.namespace} if key.namespace else {}
    return {"apiVersion": kind.api_version, "kind": kind.kind, **place, "name": key.name}


def _title(kind: Kind, key: Key) -> str:
    """With the group for kinds of third parties, of which several are called User."""
    is_foreign = "." in kind.group and not is_ours(kind) and not kind.group.endswith(".k8s.io")
    return f"{kind.kind}.{kind.group}/{key.name}" if is_foreign else f"{kind.kind}/{key.name}"
