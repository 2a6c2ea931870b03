"""A support bundle: files without secret values, scanned once more before they are written. Pure."""

import base64
import binascii
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import yaml

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.redact import HIDDEN, PUBLIC, SHORTEST, redactor
from cobaltcore.runtime.meta import Kind, Object, key_of

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "a private key": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    "a token": re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"),
    "a Fernet token": re.compile(r"\bgAAAAA[\w-]{60,}=*"),
    "a password": re.compile(
        r"(?i)(?<=password)(?:\s*[=:]\s*|\":\s*\")(?!\*\*\*|None\b|null\b)[^\s\"',]{8,}"
    ),
}
"""What is secret whatever its value."""
_SENSITIVE = re.compile(r"(?i)pass(word|wd)?|secret|token|credential|private")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Leak:
    """A file that still has something secret in it; the value itself is not reported."""

    file: str
    what: str


def hider(secrets: Iterable[Object]) -> Callable[[str], str]:
    """Hides values of Secrets in every spelling, and everything that looks like a secret."""
    listed = list(secrets)
    plain = redactor({(SECRET, key_of(each)): each for each in listed})
    spellings = sorted(_spellings(listed), key=len, reverse=True)

    def hide(text: str) -> str:
        for each in spellings:
            text = text.replace(each, HIDDEN)
        for pattern in PATTERNS.values():
            text = pattern.sub(HIDDEN, text)
        return plain(text)

    return hide


def leaks(files: Mapping[str, str], secrets: Iterable[Object]) -> list[Leak]:
    """What a bundle must not have in it, found independently of what was hidden."""
    values = _spellings(list(secrets))
    found = []
    for name, text in files.items():
        found += [Leak(name, what) for what, known in PATTERNS.items() if known.search(text)]
        if any(each in text for each in values):
            found.append(Leak(name, "the value of a Secret"))
    return found


def _spellings(secrets: Iterable[Object]) -> set[str]:
    """Values of Secrets as they may appear: decoded, in base64, in URLs, in JSON."""
    found: set[str] = set()
    for each in secrets:
        for key, encoded in (each.get("data") or {}).items():
            decoded = _decoded(encoded)
            if key not in PUBLIC and len(decoded.strip()) >= SHORTEST:
                found |= {encoded, decoded, decoded.strip(), quote(decoded, safe="")}
                found.add(json.dumps(decoded)[1:-1])
    return found


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded).decode(errors="replace")
    except binascii.Error:
        return ""


def manifest(kind: Kind, obj: Object) -> str:
    """An object as YAML; of a Secret only its keys, of containers no literal credential."""
    meta = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    notes = {k: v for k, v in (meta.pop("annotations", None) or {}).items() if k != LAST_APPLIED}
    shown = {**obj, "metadata": {**meta, **({"annotations": notes} if notes else {})}}
    if kind == SECRET:
        shown["data"] = dict.fromkeys(obj.get("data") or {}, HIDDEN)
    # Values that are folded over lines would not be found again.
    return yaml.safe_dump(_without_literals(shown), sort_keys=False, width=10**6)


def _without_literals(value: object) -> object:
    """The same without values of environment variables with a name such as DB_PASSWORD."""
    if isinstance(value, list):
        return [_without_literals(each) for each in value]
    if not isinstance(value, dict):
        return value
    name, literal = value.get("name"), value.get("value")
    if isinstance(name, str) and isinstance(literal, str) and _SENSITIVE.search(name):
        return {**value, "value": HIDDEN}
    return {field: _without_literals(each) for field, each in value.items()}


def archive(files: Mapping[str, str], *, root: str, time: int) -> bytes:
    """A compressed tar archive with one directory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in sorted(files.items()):
            content = text.encode(errors="replace")
            entry = tarfile.TarInfo(f"{root}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o600, time
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def unsafe(found: Iterable[Leak]) -> Iterator[str]:
    """Names of files that are left out."""
    yield from dict.fromkeys(each.file for each in found)
