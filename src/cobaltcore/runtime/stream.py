"""Decode a watch: bytes in any pieces to typed events, one per line. Pure but for the iterator."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

import msgspec

from cobaltcore.runtime import errors
from cobaltcore.runtime.meta import Object

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(msgspec.Struct):
    """One change, as the API server tells it."""

    type: EventType
    object: Object


_decoder = msgspec.json.Decoder(WatchEvent)


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[WatchEvent]:
    """Yield the events of a watch; raise the ApiError that an ERROR event carries."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                event = _decoder.decode(line)
                if event.type == "ERROR":
                    raise errors.from_watch(event.object)
                yield event
