"""From values of a store to the content of a Secret, and the parts of specs that are unsupported. Pure."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from cobaltcore.api.foreign.eso import SyncStatus, Template
from cobaltcore.runtime import conditions, diff
from cobaltcore.runtime.meta import Object, Struct
from cobaltcore.runtime.timestamps import parse_timestamp
from cobaltlab.providers import durations
from cobaltlab.providers.eso_stores import StoreError, Values

REFRESH_INTERVAL = "1h"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SYNCED_BY_ABSENCE = "SecretDeleted"
_PLACEHOLDER = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_NAME = re.compile(r"""\.(\w+)|index\s+\.\s+["`]([^"`]+)["`]""")
_INVALID = re.compile(r"[^-._a-zA-Z0-9]")
SpecT = TypeVar("SpecT", bound=Struct)


def spec_of(live: Object, view: type[SpecT], unsupported: Iterable[str]) -> SpecT:
    """Read a spec; raises StoreError for unsupported fields, paths such as `dataFrom[].rewrite`."""
    raw = live.get("spec") or {}
    for path in unsupported:
        if any(value not in (None, False, "None", "Default") for value in _at(raw, path)):
            raise StoreError(f"spec.{path} is not supported in the lab: remove it")
    try:
        return msgspec.convert(raw, view)
    except msgspec.ValidationError as error:
        raise StoreError(f"spec is invalid: {error}") from error


def _at(value: Any, path: str) -> list[Any]:
    """The values at a path; `[]` matches all items of a list."""
    found = [value]
    for part in path.split("."):
        name = part.removesuffix("[]")
        found = [each[name] for each in found if isinstance(each, Mapping) and name in each]
        if part.endswith("[]"):
            found = [item for each in found for item in each or ()]
    return found


def interval(text: str | None) -> timedelta:
    """The refresh interval of a spec; zero means never."""
    try:
        return durations.parse(text or REFRESH_INTERVAL)
    except ValueError as error:
        raise StoreError(f"spec.refreshInterval: {error}") from error


def version(live: Object, *others: str) -> str:
    """The synced version: changes with spec, labels, annotations (force-sync) and `others`."""
    meta = live["metadata"]
    parts = [meta.get("labels"), meta.get("annotations"), others]
    return f"{meta['generation']}-{diff.digest(parts)}"


def is_synced(status: SyncStatus) -> bool:
    return conditions.is_true(status.conditions, "Ready")


def refresh_due(status: SyncStatus, every: timedelta, now: datetime) -> datetime | None:
    """When to sync again; None: not before something changes."""
    if not status.refresh_time:
        return now
    return parse_timestamp(status.refresh_time) + every if every else None


def is_pending(obj: Object) -> Iterable[str]:
    """Index function: objects that any new Secret may unblock."""
    for condition in (obj.get("status") or {}).get("conditions") or ():
        done = condition["status"] == "True" and condition.get("reason") != SYNCED_BY_ABSENCE
        if condition["type"] == "Ready" and done:
            return
    yield "yes"


def selected(values: Values, property_: str | None, key: str) -> bytes:
    """One property of a key, also a path into its JSON; without a property all of them as JSON."""
    if not property_:
        return as_json(values)
    if property_ in values:
        return values[property_]
    first, _, rest = property_.partition(".")
    inner: Any = _parsed(values.get(first))
    for part in rest.split("."):
        inner = inner.get(part) if isinstance(inner, Mapping) else None
    if inner is None:
        raise StoreError(f"property {property_!r} does not exist in key {key!r}")
    return _text(inner)


def extracted(values: Values, property_: str | None, key: str) -> dict[str, bytes]:
    """All properties of a key, or those of the JSON object in one of them."""
    if not property_:
        return dict(values)
    inner = _parsed(selected(values, property_, key))
    if not isinstance(inner, Mapping):
        raise StoreError(f"property {property_!r} of key {key!r} is not a JSON object")
    return {str(name): _text(value) for name, value in inner.items()}


def as_json(values: Values) -> bytes:
    """Properties as a JSON object of strings."""
    texts = {name: value.decode(errors="replace") for name, value in values.items()}
    return msgspec.json.encode(texts, order="sorted")


def _parsed(value: bytes | None) -> Any:
    try:
        return msgspec.json.decode(value or b"")
    except msgspec.DecodeError:
        return None


def _text(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def valid_keys(values: Values) -> dict[str, bytes]:
    """Replace characters that keys of a Secret must not have; a collision is an error."""
    found: dict[str, bytes] = {}
    for name, value in values.items():
        valid = _INVALID.sub("_", name)
        if valid in found:
            raise StoreError(f"secret name collision during conversion: {valid}")
        found[valid] = value
    return found


def rendered(template: Template | None, values: Values) -> dict[str, bytes]:
    """The data of the Secret: the values, or the rendered template."""
    if template is None or not template.data:
        return dict(values)
    data = {name: _filled(name, text, values) for name, text in template.data.items()}
    return {**values, **data} if template.merge_policy == "Merge" else data


def _filled(name: str, text: str, values: Values) -> bytes:
    def value(placeholder: re.Match[str]) -> str:
        found = _NAME.fullmatch(placeholder[1])
        if found is None:
            raise StoreError(
                f"could not execute template: the lab supports only {{{{ .key }}}} and "
                f'{{{{ index . "key" }}}} in target.template.data[{name!r}]'
            )
        key = found[1] or found[2]
        if key not in values:
            raise StoreError(
                f"could not execute template: there is no key {key!r} for "
                f"target.template.data[{name!r}]"
            )
        return values[key].decode()

    try:
        return _PLACEHOLDER.sub(value, text).encode()
    except UnicodeDecodeError:
        raise StoreError(
            f"could not execute template: a value for target.template.data[{name!r}] is not text"
        ) from None


def metadata(live: Object, template: Template | None) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations of the Secret: the template's, else the object's own."""
    if template is not None:
        configured = template.metadata
        if configured is None:
            return {}, {}
        return dict(configured.labels), dict(configured.annotations)
    meta = live["metadata"]
    annotations = dict(meta.get("annotations") or {})
    annotations.pop(LAST_APPLIED, None)
    return dict(meta.get("labels") or {}), annotations
