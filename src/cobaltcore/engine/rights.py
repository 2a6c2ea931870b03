"""What controllers may do in a cluster: data, and the rules that follow from it. Pure.

Reading follows from the caches that controllers have; what they write is declared next to them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cobaltcore.api.foreign.kubernetes import CLUSTER_ROLE, EVENT
from cobaltcore.runtime.meta import Desired, Kind, Object

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "patch", "update")


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of one API group, for example on a subresource."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    """The only objects that they are for; none: all."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What a set of controllers writes."""

    serves: tuple[Kind, ...] = ()
    """Kinds whose finalizers and status it writes."""
    creates: tuple[Kind, ...] = ()
    """Kinds that it creates, changes and deletes."""
    extra: tuple[Rule, ...] = ()


def cluster_role(name: str, rights: Rights, reads: Iterable[Kind], **labels: str) -> Desired:
    """All rights as one role."""
    metadata: Object = {"name": name}
    if labels:
        metadata["labels"] = labels
    rules = rules_of(_rules(rights, reads))
    return Desired(CLUSTER_ROLE, {"metadata": metadata, "rules": rules})


def rules_of(rules: Iterable[Rule]) -> list[Object]:
    """Rules as roles have them."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for each in rules:
        for resource in each.resources:
            verbs[each.group, resource, each.names].update(each.verbs)
    return _grouped(verbs)


def in_namespace(
    name: str, rights: Rights, reads: Iterable[Kind]
) -> tuple[list[Object], Desired | None]:
    """The rules for one namespace, and a ClusterRole for kinds that have none, if there are any."""
    reads = tuple(reads)
    wide = {
        (kind.group, kind.plural)
        for kind in (*reads, *rights.serves, *rights.creates)
        if not kind.namespaced
    }
    inside: list[Rule] = []
    outside: list[Rule] = []
    for rule in _rules(rights, reads):
        for resource in rule.resources:
            is_wide = (rule.group, resource.partition("/")[0]) in wide
            (outside if is_wide else inside).append(replace(rule, resources=(resource,)))
    if not outside:
        return rules_of(inside), None
    body = {"metadata": {"name": name}, "rules": rules_of(outside)}
    return rules_of(inside), Desired(CLUSTER_ROLE, body)


def _rules(rights: Rights, reads: Iterable[Kind]) -> Iterator[Rule]:
    for kind in (*reads, *rights.serves, *rights.creates):
        yield Rule(kind.group, (kind.plural,), READ)
    for kind in rights.serves:
        yield Rule(kind.group, (kind.plural,), ("patch", "update"))
        yield Rule(kind.group, (f"{kind.plural}/status",), ("get", "patch", "update"))
        # Owner references that block a deletion ask for this one.
        yield Rule(kind.group, (f"{kind.plural}/finalizers",), ("update",))
    for kind in rights.creates:
        yield Rule(kind.group, (kind.plural,), WRITE)
    yield Rule(EVENT.group, (EVENT.plural,), ("create", "patch"))
    yield from rights.extra


def _grouped(verbs: dict[tuple[str, str, tuple[str, ...]], set[str]]) -> list[Object]:
    """Resources of a group that allow the same in one rule."""
    rules: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource, names), allowed in sorted(verbs.items()):
        rules[group, tuple(sorted(allowed)), names].append(resource)
    return [
        {
            "apiGroups": [group],
            "resources": resources,
            **({"resourceNames": list(names)} if names else {}),
            "verbs": list(allowed),
        }
        for (group, allowed, names), resources in rules.items()
    ]
