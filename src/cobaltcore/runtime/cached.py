"""One version of an object, decoded only when needed.

Most versions are never read: the response to a write has what was written, and the watch repeats
it. A cache decodes the metadata that it needs; the whole object is decoded on first access, and
then kept instead of the bytes. Of an object that cannot be decoded there is only the metadata.
"""

from typing import Any, Self

import msgspec

from cobaltcore.runtime.meta import Key, Object


class _Metadata(msgspec.Struct, rename="camel"):
    """Equal if only the status differs: a new spec has a new generation."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    # Any, so that they are shared with a decoded object instead of copied.
    labels: Any = None
    annotations: Any = None
    finalizers: Any = None
    deletion_timestamp: Any = None
    owner_references: Any = None


class _WithMetadata(msgspec.Struct):
    metadata: _Metadata


class _WithStatus(msgspec.Struct):
    status: Any = None


_metadata_decoder = msgspec.json.Decoder(_WithMetadata)
_status_decoder = msgspec.json.Decoder(_WithStatus)
_decoder = msgspec.json.Decoder(Object)
# Nested too deeply, or a number that is out of range.
UNDECODABLE = (msgspec.DecodeError, RecursionError)


class CachedObject:
    """One version of an object."""

    __slots__ = ("_metadata", "_object", "_raw", "key", "version")

    def __init__(
        self, metadata: _Metadata, raw: msgspec.Raw | bytes, whole: Object | None
    ) -> None:
        self.key = Key(metadata.namespace, metadata.name)
        self.version = int(metadata.resource_version or 0)
        """Resource versions of one kind increase; they are compared as numbers."""
        self._metadata = _unversioned(metadata)
        self._raw = raw
        self._object = whole

    @classmethod
    def read(cls, raw: msgspec.Raw | bytes) -> Self:
        """From the bytes that the server sent; decoded on first access."""
        return cls(_metadata_decoder.decode(raw).metadata, raw, None)

    @classmethod
    def decoded(cls, raw: msgspec.Raw | bytes) -> Self:
        """From the bytes that the server sent, decoded at once."""
        try:
            whole = _decoder.decode(raw)
        except UNDECODABLE:
            return cls.read(raw)
        return cls.of(whole)

    @classmethod
    def of(cls, obj: Object) -> Self:
        """From a decoded object."""
        return cls(_metadata_of(obj), b"", obj)

    @property
    def object(self) -> Object:
        """The whole object. Not to be changed."""
        if self._object is None:
            self._object = self._decode()
            self._metadata = _unversioned(_metadata_of(self._object))
            self._raw = b""
        return self._object

    @property
    def status(self) -> Any:
        if self._object is not None:
            return self._object.get("status")
        try:
            return _status_decoder.decode(self._raw).status
        except UNDECODABLE:
            return None

    @property
    def owners(self) -> list[str]:
        """Values of the index `owner`, see `meta.ownership`."""
        owners = self._metadata.owner_references or ()
        return [f"{self.key.namespace}/{owner['uid']}" for owner in owners]

    @property
    def labels(self) -> dict[str, str]:
        return self._metadata.labels or {}

    def _decode(self) -> Object:
        try:
            return _decoder.decode(self._raw)
        except UNDECODABLE:
            metadata = msgspec.to_builtins(self._metadata)
            return {"metadata": {**metadata, "resourceVersion": str(self.version)}}

    def same_apart_from_status(self, other: Self) -> bool:
        """Whether nothing but the status differs from another version of the object."""
        return self._metadata == other._metadata

    def same_spec(self, other: Self) -> bool:
        """Whether the spec is certainly that of another version; False without generations."""
        mine, theirs = self._metadata, other._metadata
        return 0 < mine.generation == theirs.generation and mine.uid == theirs.uid


def _metadata_of(obj: Object) -> _Metadata:
    # Nothing reads it, and it is half of an object's size.
    obj["metadata"].pop("managedFields", None)
    return msgspec.convert(obj["metadata"], _Metadata)


def _unversioned(metadata: _Metadata) -> _Metadata:
    metadata.resource_version = ""
    return metadata
