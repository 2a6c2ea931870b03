"""Objects as people name them on a command line: KIND/NAME."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cobaltcore.api import base
from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.hypervisor import HYPERVISOR
from cobaltcore.cli import errors
from cobaltcore.engine import registry
from cobaltcore.engine.diagnosis.facts import Facts, Named
from cobaltcore.runtime.meta import Key, Kind

FURTHER = (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks about."""

    kind: Kind
    name: str

    @property
    def is_hypervisor(self) -> bool:
        return self.kind == HYPERVISOR


def parse(text: str) -> Wanted:
    """KIND/NAME or KIND.GROUP/NAME; the kind as kubectl knows it, in any case."""
    word, slash, name = text.partition("/")
    if not (word and slash and name) or "/" in name:
        raise errors.CommandError(
            f'"{text}" is not of the form KIND/NAME',
            hint="for example: cobalt why ControlPlane/lab, cobalt why Nova/nova",
        )
    matching = [kind for kind in _kinds() if word.lower() in _names(kind)]
    if not matching:
        ours = ", ".join(d.kind.kind for d in base.definitions())
        raise errors.CommandError(f'there is no kind "{word}"', hint=f"kinds are {ours}")
    return Wanted(matching[0], name)


def find(facts: Facts, wanted: Wanted, namespace: str) -> Named:
    """The object of that name, in the namespace or, if none is chosen, in any."""
    kind = NODE if wanted.is_hypervisor else wanted.kind
    known = [key for key in facts.objects.get(kind, {}) if key.name == wanted.name]
    found = [key for key in known if not kind.namespaced or namespace in ("", key.namespace)]
    if len(found) > 1:
        spaces = ", ".join(sorted(key.namespace for key in found))
        raise errors.CommandError(
            f"there are {len(found)} objects {wanted.kind.kind} {wanted.name!r}",
            hint=f"choose one with --namespace: {spaces}",
        )
    if found:
        return Named(kind, found[0])
    if kind in facts.unserved or not kind.namespaced:
        return Named(kind, Key(namespace if kind.namespaced else "", wanted.name))
    elsewhere = ", ".join(sorted(key.name for key in facts.objects.get(kind, {}))) or "none"
    place = f" in namespace {namespace!r}" if namespace else ""
    raise errors.CommandError(
        f"{wanted.kind.kind} {wanted.name!r} does not exist{place}",
        hint=f"objects of this kind: {elsewhere}",
    )


def _kinds() -> Iterable[Kind]:
    """Ours, those of Kubernetes, those of third parties that operators create."""
    ours = [each.kind for each in base.definitions()]
    planners = (planner for each in registry.operators() for planner in each.planners)
    children = (child.kind for planner in planners for child in planner.children)
    return dict.fromkeys([*ours, *FURTHER, *children])


def _names(kind: Kind) -> Iterator[str]:
    yield kind.kind.lower()
    yield kind.plural
    yield str(kind)
    yield f"{kind.kind}.{kind.group}".lower()
    for definition in base.definitions():
        if definition.kind == kind:
            yield from definition.short_names
