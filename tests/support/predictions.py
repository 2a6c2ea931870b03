"""What `cobalt plan` predicts for an edit, compared with what happens."""

from collections.abc import Iterable, Mapping
from typing import Any

from cobaltcore.engine import registry
from cobaltcore.runtime.dryrun import content

KINDS = sorted(
    {
        str(kind)
        for each in registry.operators()
        for planner in each.planners
        for kind in (planner.kind, *(child.kind for child in planner.children))
    }
)
"""All that operators write."""
Change = tuple[str, str, str]
Objects = dict[tuple[str, str], dict[str, Any]]


def contents(items: Iterable[dict[str, Any]]) -> Objects:
    """Objects by kind and name, without statuses, and without the Secrets of cert-manager."""
    return {
        (f"{each['kind']} {each['apiVersion']}", each["metadata"]["name"]): content(each)
        for each in items
        if each.get("type") != "kubernetes.io/tls"
    }


def observed(before: Objects, after: Objects) -> set[Change]:
    verbs = {
        **dict.fromkeys(after.keys() - before.keys(), "create"),
        **dict.fromkeys(before.keys() - after.keys(), "delete"),
        **{e: "change" for e in after.keys() & before.keys() if after[e] != before[e]},
    }
    return {_change(verb, kind, name) for (kind, name), verb in verbs.items()}


def predicted(found: Mapping[str, Any]) -> set[Change]:
    """The changes in the JSON output of `cobalt plan`."""
    return {
        _change(each["action"], f"{each['kind']} {each['apiVersion']}", each["name"])
        for each in found["changes"]
    }


def _change(verb: str, kind: str, name: str) -> Change:
    """A Job is named after its inputs, some of which others create, such as IDs in Keystone."""
    return verb, kind, name.rpartition("-")[0] if kind.startswith("Job ") else name


def merged(base: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """An edit as a merge patch does it."""
    found = dict(base)
    for name, value in change.items():
        known = found.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            found[name] = merged(known, value)
        else:
            found[name] = value
    return found
