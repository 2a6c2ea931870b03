"""Decode a watch: bytes in any pieces to typed events, one per line. Pure but for the iterator."""

from collections.abc import AsyncGenerator, AsyncIterator, Collection
from typing import Literal

import msgspec

from cobaltcore.runtime import errors
from cobaltcore.runtime.meta import Object

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(msgspec.Struct):
    """One change, as the API server tells it."""

    type: EventType
    object: Object


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Glance(msgspec.Struct):
    object: _Object


_decoder = msgspec.json.Decoder(WatchEvent)
_glance = msgspec.json.Decoder(_Glance)


async def events(
    chunks: AsyncIterator[bytes], *, known: Collection[str] = ()
) -> AsyncGenerator[WatchEvent]:
    """Yield the events of a watch; raise the ApiError that an ERROR event carries.

    Of a version that is `known` already only a bookmark comes: the rest is not decoded.
    """
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                event = _known(line, known) or _decoder.decode(line)
                if event.type == "ERROR":
                    raise errors.from_watch(event.object)
                yield event


def _known(line: bytes, known: Collection[str]) -> WatchEvent | None:
    if not known:
        return None
    version = _glance.decode(line).object.metadata.resource_version
    if version not in known:
        return None
    return WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": version}})
