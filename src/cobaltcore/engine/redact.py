"""Takes secret values out of texts that come from elsewhere, such as the last line of a log. Pure."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.observed import Contents
from cobaltcore.runtime.meta import Object

HIDDEN = "***"
SHORTEST = 8
"""Shorter values are words that occur anywhere."""
PUBLIC = ("ca.crt", "host", "mon_host", "monitors", "port", "tls.crt", "username")
"""Keys whose values are not secret."""
_LOGIN = re.compile(r"(?<=://)[^\s/@]*:[^\s/]*(?=@)")


def redactor(contents: Contents) -> Callable[[str], str]:
    """Hides values of Secrets, also as parts of URLs, and every login in a URL."""
    values = sorted(set(_values(contents)), key=len, reverse=True)

    def redact(text: str) -> str:
        for each in values:
            text = text.replace(each, HIDDEN)
        return _LOGIN.sub(HIDDEN, text)

    return redact


def _values(contents: Contents) -> Iterator[str]:
    for (kind, _), found in contents.items():
        if kind == SECRET:
            for text in _texts(found):
                yield text
                yield quote(text, safe="")


def _texts(found: Object) -> Iterator[str]:
    """Lines of the secret values, whatever they are."""
    for key, value in (found.get("data") or {}).items():
        if key not in PUBLIC:
            for line in _decoded(value).splitlines():
                if len(line.strip()) >= SHORTEST:
                    yield line.strip()


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode(errors="replace")
    except binascii.Error:
        return ""
