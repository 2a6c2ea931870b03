"""A dependency graph of parts, as data: order, progress and teardown follow from it. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Generic, TypeVar

from cobaltcore.engine.plan import Link
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.runtime.meta import Desired

ViewT = TypeVar("ViewT")


@dataclass(frozen=True, slots=True)
class Node(Generic[ViewT]):
    """One part: its objects, and its readiness."""

    name: str
    phase: str
    objects: Callable[[ViewT], Iterable[Desired]]
    ready: Callable[[ViewT], Verdict]
    needs: tuple[str, ...] = ()
    start_after: tuple[str, ...] | None = None
    """What its objects need to be created, if that is less than what it needs to be ready."""
    enabled_if: Callable[[ViewT], bool] = lambda view: True
    serves: Callable[[ViewT], bool] = lambda view: False
    """Whether it does its work even while it is not ready, for example during a rollout."""


NOT_WANTED = Ready("NotWanted")


@dataclass(slots=True)
class Walk:
    """What a walk over the graph found."""

    apply: list[Desired] = field(default_factory=list)
    """Objects of parts that may start."""
    expected: list[Desired] = field(default_factory=list)
    """Objects of parts that wait: neither changed nor removed."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    """Every part with its objects."""
    serving: set[str] = field(default_factory=set)
    """Parts that do their work, whatever is in progress at them or at what they need."""

    def unready(self, names: Iterable[str]) -> list[str]:
        """Those of some parts that are wanted and not ready."""
        return [
            name for name in names if not isinstance(self.verdicts.get(name, NOT_WANTED), Ready)
        ]

    @property
    def progress(self) -> tuple[int, int]:
        """Parts that serve, and all parts."""
        return len(self.serving), len(self.verdicts)

    @property
    def blocker(self) -> tuple[str, Verdict] | None:
        """The first part that is not ready although its needs are met."""
        for name, verdict in self.verdicts.items():
            if not isinstance(verdict, Ready) and verdict.reason != PENDING:
                return name, verdict
        return None


PENDING = "NeedsPending"


def ordered(nodes: Sequence[Node[ViewT]]) -> list[Node[ViewT]]:
    """Nodes such that each comes after what it needs; otherwise in their own order."""
    by_name = {node.name: node for node in nodes}
    place = {node.name: number for number, node in enumerate(nodes)}
    sorter = TopologicalSorter({node.name: _known(node, by_name) for node in nodes})
    sorter.prepare()
    found: list[Node[ViewT]] = []
    while sorter.is_active():
        for name in sorted(sorter.get_ready(), key=place.__getitem__):
            found.append(by_name[name])
            sorter.done(name)
    return found


def walk(nodes: Sequence[Node[ViewT]], view: ViewT) -> Walk:
    """Evaluate every enabled part; a part whose needs are not met is left as it is."""
    wanted = [node for node in nodes if node.enabled_if(view)]
    found = Walk()
    for node in ordered(wanted):
        missing = found.unready(node.needs)
        held_up = missing if node.start_after is None else found.unready(node.start_after)
        objects = list(node.objects(view))
        (found.expected if held_up else found.apply).extend(objects)
        found.phases[node.name] = node.phase
        own = node.ready(view)
        if isinstance(own, Ready) or node.serves(view):
            found.serving.add(node.name)
        verdict = Waiting(PENDING, f"waits for {', '.join(missing)}") if missing else own
        found.verdicts[node.name] = verdict
        found.links.append(Link(node.name, verdict, objects, tuple(missing)))
    return found


def teardown(nodes: Sequence[Node[ViewT]]) -> list[Node[ViewT]]:
    """The order in which parts are deleted: nothing before what needs it."""
    return list(reversed(ordered(nodes)))


def _known(node: Node[ViewT], by_name: Mapping[str, Node[ViewT]]) -> set[str]:
    return {need for need in node.needs if need in by_name}
