"""Secrets that operators compose or generate. Pure: randomness comes in as an argument."""

import base64
from collections.abc import Mapping
from typing import Any

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime.meta import Desired, Key, Object


def secret(
    key: Key,
    values: Mapping[str, str],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> Desired:
    """A Secret with text values."""
    meta: dict[str, Any] = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    if annotations:
        meta["annotations"] = dict(annotations)
    data = {name: base64.b64encode(text.encode()).decode() for name, text in values.items()}
    return Desired(SECRET, {"metadata": meta, "type": "Opaque", "data": data})


def text(obj: Object | None, key: str) -> str | None:
    """One value of a Secret as text; None if the Secret or the key is not there."""
    value = ((obj or {}).get("data") or {}).get(key)
    return base64.b64decode(value).decode() if value is not None else None


def texts(obj: Object | None) -> dict[str, str]:
    """All values of a Secret that are text."""
    data = (obj or {}).get("data") or {}
    return {
        key: base64.b64decode(value).decode() for key, value in data.items() if _is_text(value)
    }


def fault(obj: Object, key: str) -> str:
    """Why a value that exists cannot be used, as the end of a sentence; empty if it can."""
    value = obj["data"][key]
    if not _is_text(value):
        return f"has a key {key!r} that is not text in UTF-8"
    return "" if base64.b64decode(value).strip() else f"has an empty key {key!r}"


def _is_text(value: str) -> bool:
    try:
        base64.b64decode(value).decode()
    except UnicodeDecodeError:
        return False
    return True
