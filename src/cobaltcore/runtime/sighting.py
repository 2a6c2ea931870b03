"""One state of an object, as bytes until somebody looks into it.

Most of what arrives is never read: the answer to a write says what was written, and the watch
repeats it. What a cache has to know of a state is read from the bytes, everything else is decoded
when it is asked for, and then kept instead of the bytes.
"""

from typing import Any, Self

import msgspec

from cobaltcore.runtime.meta import Key, Object


class _Metadata(msgspec.Struct, rename="camel"):
    """Equal if nobody wishes anything else of the object: a new spec is a new generation."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    # Not typed any closer, so that they are shared with a decoded object instead of copied.
    labels: Any = None
    annotations: Any = None
    finalizers: Any = None
    deletion_timestamp: Any = None
    owner_references: Any = None


class _Head(msgspec.Struct):
    metadata: _Metadata


class _Told(msgspec.Struct):
    status: Any = None


_head = msgspec.json.Decoder(_Head)
_told = msgspec.json.Decoder(_Told)
_whole = msgspec.json.Decoder(Object)


class Sighting:
    """A state of one object."""

    __slots__ = ("_metadata", "_object", "_raw", "key", "version")

    def __init__(
        self, metadata: _Metadata, raw: msgspec.Raw | bytes, whole: Object | None
    ) -> None:
        self.key = Key(metadata.namespace, metadata.name)
        self.version = int(metadata.resource_version or 0)
        """Resource versions of one kind grow; they are compared as numbers."""
        self._metadata = _unversioned(metadata)
        self._raw = raw
        self._object = whole

    @classmethod
    def read(cls, raw: msgspec.Raw | bytes) -> Self:
        """A state as the server sent it."""
        return cls(_head.decode(raw).metadata, raw, None)

    @classmethod
    def decoded(cls, raw: msgspec.Raw | bytes) -> Self:
        """A state as the server sent it, that somebody will look into for certain."""
        return cls.of(_whole.decode(raw))

    @classmethod
    def of(cls, obj: Object) -> Self:
        """A state that is decoded already."""
        return cls(_metadata_of(obj), b"", obj)

    @property
    def object(self) -> Object:
        """The whole of it. Not to be changed."""
        if self._object is None:
            self._object = _whole.decode(self._raw)
            self._metadata = _unversioned(_metadata_of(self._object))
            self._raw = b""
        return self._object

    @property
    def status(self) -> Any:
        """What its controller tells of it."""
        if self._object is not None:
            return self._object.get("status")
        return _told.decode(self._raw).status

    @property
    def owner_uids(self) -> list[str]:
        """Whom it belongs to."""
        return [owner["uid"] for owner in self._metadata.owner_references or ()]

    def wishes_as(self, other: Self) -> bool:
        """Whether nothing but the status differs from another state of the object."""
        return self._metadata == other._metadata


def _metadata_of(obj: Object) -> _Metadata:
    # Field ownership is the server's book-keeping and half of an object's size.
    obj["metadata"].pop("managedFields", None)
    return msgspec.convert(obj["metadata"], _Metadata)


def _unversioned(metadata: _Metadata) -> _Metadata:
    metadata.resource_version = ""
    return metadata
