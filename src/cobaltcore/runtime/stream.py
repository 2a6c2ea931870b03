"""Decode a watch: chunks of bytes to typed events, one per line. Pure."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from cobaltcore.runtime import errors

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(msgspec.Struct):
    """One event of a watch."""

    type: EventType
    object: msgspec.Raw


_decoder = msgspec.json.Decoder(WatchEvent)


class Events:
    """Splits the bytes of one watch into events."""

    def __init__(self, undecodable: Callable[[Exception], None] | None = None) -> None:
        self._rest = b""
        self._undecodable = undecodable

    def of(self, piece: bytes) -> Iterator[WatchEvent]:
        """The events that `piece` completes; raise the ApiError that an ERROR event carries.

        What cannot be decoded, for example because it is nested too deeply, is reported and left out.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            event = self._decode(line) if line else None
            if event is None:
                continue
            if event.type == "ERROR":
                raise errors.from_watch(msgspec.json.decode(event.object))
            yield event

    def _decode(self, line: bytes) -> WatchEvent | None:
        try:
            return _decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            if self._undecodable is None:
                raise
            self._undecodable(error)
            return None
