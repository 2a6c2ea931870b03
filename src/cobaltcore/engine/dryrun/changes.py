"""What a dry run would change, object by object and field by field; secret values are hidden. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any, Literal

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.engine.redact import HIDDEN
from cobaltcore.runtime.dryrun import Write, content, same
from cobaltcore.runtime.meta import APPLIED, Key, Kind, Object
from cobaltcore.runtime.text import shortened

Verb = Literal["create", "change", "delete"]
HIDDEN_ANNOTATIONS = (APPLIED, "kubectl.kubernetes.io/last-applied-configuration")
LONGEST = 120
ABSENT = "(unset)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field that differs."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One object that would be created, changed or deleted."""

    verb: Verb
    kind: Kind
    key: Key
    before: Object | None = field(repr=False)
    after: Object | None = field(repr=False)
    fields: Sequence[Field] = ()
    lines: Sequence[str] = ()
    """Of a new ConfigMap: lines that differ from its predecessor."""


def changes(
    writes: Iterable[Write], predecessors: Mapping[Key, Object], redact: Callable[[str], str]
) -> list[Change]:
    """The net effect on each object, in the order in which they are first written.

    `predecessors`: the ConfigMap that a new one replaces, by the name of the new one.
    """
    first: dict[tuple[Kind, Key], Write] = {}
    last: dict[tuple[Kind, Key], Write] = {}
    for each in writes:
        first.setdefault((each.kind, each.key), each)
        last[each.kind, each.key] = each
    found = (
        _change(kind, key, first[kind, key].before, last[kind, key].after, predecessors, redact)
        for kind, key in first
    )
    return [each for each in found if each is not None]


def _change(
    kind: Kind,
    key: Key,
    before: Object | None,
    after: Object | None,
    predecessors: Mapping[Key, Object],
    redact: Callable[[str], str],
) -> Change | None:
    if before is None and after is None:
        return None
    if before is not None and after is not None and same(before, after):
        return None
    verb: Verb = "change"
    if before is None:
        verb = "create"
    elif after is None:
        verb = "delete"
    lines: list[str] = []
    fields: list[Field] = []
    if before is not None and after is not None:
        shown = (_shown(kind, each) for each in differences(before, after))
        fields = [
            Field(path=f.path, before=redact(f.before), after=redact(f.after)) for f in shown
        ]
    elif kind == CONFIG_MAP and after is not None and key in predecessors:
        lines = [redact(each) for each in _lines(predecessors[key], after)]
    return Change(
        verb=verb, kind=kind, key=key, before=before, after=after, fields=fields, lines=lines
    )


def differences(before: Object, after: Object) -> Iterator[Field]:
    """Fields that differ, items of lists by their names."""
    yield from _walk("", _visible(before), _visible(after))


def _visible(obj: Object) -> Object:
    found = content(obj)
    meta = dict(found["metadata"])
    notes = meta.pop("annotations", None) or {}
    kept = {name: value for name, value in notes.items() if name not in HIDDEN_ANNOTATIONS}
    return {**found, "metadata": {**meta, **({"annotations": kept} if kept else {})}}


def _walk(path: str, before: Any, after: Any) -> Iterator[Field]:
    if before == after:
        return
    old, new = _named(before), _named(after)
    if old is None or new is None:
        yield Field(path=path, before=_text(before), after=_text(after))
        return
    for name in dict.fromkeys([*old, *new]):
        child = f"{path}[{name}]" if isinstance(before, list) else f"{path}.{name}".lstrip(".")
        yield from _walk(child, old.get(name, _Absent), new.get(name, _Absent))


class _Absent:
    """In place of a value that is not set."""


def _named(value: Any) -> dict[str, Any] | None:
    """A mapping, or a list whose items have names of their own."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not value:
        return None
    names = [each.get("name") if isinstance(each, dict) else None for each in value]
    if None in names or len(set(names)) != len(names):
        return None
    return dict(zip(map(str, names), value, strict=True))


def _text(value: Any) -> str:
    if value is _Absent:
        return ABSENT
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return shortened(" ".join(text.split()), LONGEST)


def _shown(kind: Kind, each: Field) -> Field:
    if kind != SECRET or not each.path.startswith(("data", "stringData")):
        return each
    hidden = [ABSENT if text == ABSENT else HIDDEN for text in (each.before, each.after)]
    return Field(path=each.path, before=hidden[0], after=hidden[1])


def _lines(before: Object, after: Object) -> Iterator[str]:
    old, new = before.get("data") or {}, after.get("data") or {}
    for name in dict.fromkeys([*old, *new]):
        pair = (old.get(name, "").splitlines(), new.get(name, "").splitlines())
        for line in unified_diff(*pair, lineterm="", n=0):
            if not line.startswith(("---", "+++", "@@")):
                yield shortened(f"{name}: {line[0]} {line[1:].strip()}", LONGEST)
