"""Which keys of which Secrets go into a target. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cobaltcore.api.credentials import SecretAggregateSpec, Source
from cobaltcore.runtime.meta import Object


class Merged(NamedTuple):
    """The target's content, or everything that prevents it."""

    data: dict[str, str]
    problems: list[str]


def merge(spec: SecretAggregateSpec, secrets: Mapping[str, Object | None]) -> Merged:
    """Put the sources together; `secrets` has every source by name, None if it does not exist."""
    data: dict[str, str] = {}
    origin: dict[str, str] = {}
    problems: list[str] = []
    for source in spec.sources:
        name = source.secret_ref.name
        secret = secrets[name]
        if secret is None:
            problems.append(f"Secret {name!r} does not exist")
            continue
        chosen, missing = _choose(source, secret.get("data") or {})
        problems += [f"Secret {name!r} has no key {key!r}" for key in missing]
        for key, value in chosen.items():
            if key in data:
                problems.append(
                    f"key {key!r} comes from {origin[key]!r} and from {name!r}: rename one of them"
                )
            data[key], origin[key] = value, name
    return Merged(data, problems)


def _choose(source: Source, content: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The keys that a source gives, under their new names, and those that it lacks."""
    renamed = source.rename or {}
    wanted = source.keys if source.keys is not None else sorted({*content, *renamed})
    missing = [key for key in wanted if key not in content]
    return {renamed.get(key, key): content[key] for key in wanted if key in content}, missing
