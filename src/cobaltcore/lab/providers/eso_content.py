"""From values of a store to the content of a Secret, and what of a spec is not served. Pure."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from cobaltcore.api.foreign.eso import SyncStatus, Template
from cobaltcore.lab.providers import durations
from cobaltcore.lab.providers.eso_stores import StoreProblem, Values
from cobaltcore.runtime import conditions, diff
from cobaltcore.runtime.clock import parse_timestamp
from cobaltcore.runtime.meta import Condition, Object, Struct

REFRESH_INTERVAL = "1h"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SYNCED_BY_ABSENCE = "SecretDeleted"
_PLACE = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_NAME = re.compile(r"""\.(\w+)|index\s+\.\s+["`]([^"`]+)["`]""")
_ILLEGAL = re.compile(r"[^-._a-zA-Z0-9]")
SpecT = TypeVar("SpecT", bound=Struct)


def spec_of(live: Object, view: type[SpecT], unserved: Iterable[str]) -> SpecT:
    """Read a spec; a StoreProblem for what is wrong or would be left undone without a word.

    `unserved` are paths such as `dataFrom[].rewrite`.
    """
    raw = live.get("spec") or {}
    for path in unserved:
        if any(value not in (None, False, "None", "Default") for value in _at(raw, path)):
            raise StoreProblem(f"spec.{path} is not served in the lab")
    try:
        return msgspec.convert(raw, view)
    except msgspec.ValidationError as error:
        raise StoreProblem(f"spec cannot be used: {error}") from error


def _at(value: Any, path: str) -> list[Any]:
    """The values at a path; `[]` stands for all items of a list."""
    found = [value]
    for part in path.split("."):
        name = part.removesuffix("[]")
        found = [each[name] for each in found if isinstance(each, Mapping) and name in each]
        if part.endswith("[]"):
            found = [item for each in found for item in each or ()]
    return found


def interval(text: str | None) -> timedelta:
    """The refresh interval of a spec; zero means never again."""
    try:
        return durations.parse(text or REFRESH_INTERVAL)
    except ValueError as error:
        raise StoreProblem(f"spec.refreshInterval: {error}") from error


def version(live: Object, *others: str) -> str:
    """What was carried over: changes with the spec, labels, annotations (force-sync) and `others`."""
    meta = live["metadata"]
    parts = [meta.get("labels"), meta.get("annotations"), others]
    return f"{meta['generation']}-{diff.digest(parts)}"


def is_synced(status: SyncStatus) -> bool:
    """Whether the last attempt worked."""
    return conditions.is_true(status.conditions, "Ready")


def refresh_due(status: SyncStatus, every: timedelta, now: datetime) -> datetime | None:
    """When to carry over again; None: never, as long as nothing changes."""
    if not status.refresh_time:
        return now
    return parse_timestamp(status.refresh_time) + every if every else None


def is_pending(obj: Object) -> Iterable[str]:
    """Index function: objects that a new value in a store may help."""
    for condition in (obj.get("status") or {}).get("conditions") or ():
        done = condition["status"] == "True" and condition.get("reason") != SYNCED_BY_ABSENCE
        if condition["type"] == "Ready" and done:
            return
    yield "yes"


def plain(condition: Condition) -> Condition:
    """A condition with only the fields that the real kinds have."""
    return msgspec.structs.replace(condition, observed_generation=None)


def selected(values: Values, wanted: str | None, key: str) -> bytes:
    """One property of a key, also from inside of JSON; all of them as JSON if none is named."""
    if not wanted:
        return as_json(values)
    if wanted in values:
        return values[wanted]
    first, _, rest = wanted.partition(".")
    inner: Any = _parsed(values.get(first))
    for part in rest.split("."):
        inner = inner.get(part) if isinstance(inner, Mapping) else None
    if inner is None:
        raise StoreProblem(f"property {wanted!r} does not exist in key {key!r}")
    return _text(inner)


def extracted(values: Values, wanted: str | None, key: str) -> dict[str, bytes]:
    """All properties of a key, or those of the JSON object in one of them."""
    if not wanted:
        return dict(values)
    inner = _parsed(selected(values, wanted, key))
    if not isinstance(inner, Mapping):
        raise StoreProblem(f"property {wanted!r} of key {key!r} is not a JSON object")
    return {str(name): _text(value) for name, value in inner.items()}


def as_json(values: Values) -> bytes:
    """Properties as one JSON object of texts."""
    texts = {name: value.decode(errors="replace") for name, value in values.items()}
    return msgspec.json.encode(texts, order="sorted")


def _parsed(value: bytes | None) -> Any:
    try:
        return msgspec.json.decode(value or b"")
    except msgspec.DecodeError:
        return None


def _text(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def legal_keys(values: Values) -> dict[str, bytes]:
    """Values under names that a Secret allows; two that become one are a problem."""
    found: dict[str, bytes] = {}
    for name, value in values.items():
        legal = _ILLEGAL.sub("_", name)
        if legal in found:
            raise StoreProblem(f"secret name collision during conversion: {legal}")
        found[legal] = value
    return found


def rendered(template: Template | None, values: Values) -> dict[str, bytes]:
    """The data of the Secret: the values, or what the template makes of them."""
    if template is None or not template.data:
        return dict(values)
    made = {name: _filled(name, text, values) for name, text in template.data.items()}
    return {**values, **made} if template.merge_policy == "Merge" else made


def _filled(name: str, text: str, values: Values) -> bytes:
    def value(place: re.Match[str]) -> str:
        found = _NAME.fullmatch(place[1])
        if found is None:
            raise StoreProblem(
                f"could not execute template: the lab serves only {{{{ .key }}}} and "
                f'{{{{ index . "key" }}}} in target.template.data[{name!r}]'
            )
        key = found[1] or found[2]
        if key not in values:
            raise StoreProblem(
                f"could not execute template: there is no key {key!r} for "
                f"target.template.data[{name!r}]"
            )
        return values[key].decode()

    try:
        return _PLACE.sub(value, text).encode()
    except UnicodeDecodeError:
        raise StoreProblem(
            f"could not execute template: a value for target.template.data[{name!r}] is not text"
        ) from None


def metadata(live: Object, template: Template | None) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations of the Secret: the template's, or without one the object's own."""
    if template is not None:
        given = template.metadata
        return (dict(given.labels), dict(given.annotations)) if given else ({}, {})
    meta = live["metadata"]
    annotations = dict(meta.get("annotations") or {})
    annotations.pop(LAST_APPLIED, None)
    return dict(meta.get("labels") or {}), annotations
