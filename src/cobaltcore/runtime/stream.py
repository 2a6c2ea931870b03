"""Decode a watch: bytes in any pieces to typed events, one per line. Pure."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from cobaltcore.runtime import errors

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(msgspec.Struct):
    """One change, as the API server tells it."""

    type: EventType
    object: msgspec.Raw


_decoder = msgspec.json.Decoder(WatchEvent)


class Events:
    """The events of one watch."""

    def __init__(self) -> None:
        self._rest = b""

    def of(self, piece: bytes) -> Iterator[WatchEvent]:
        """Those that are whole with this piece; raise the ApiError that an ERROR event carries."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line:
                event = _decoder.decode(line)
                if event.type == "ERROR":
                    raise errors.from_watch(msgspec.json.decode(event.object))
                yield event
