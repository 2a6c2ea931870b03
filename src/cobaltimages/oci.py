"""The few structures of OCI images that we read and write. Pure, but for hashing files."""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONTAINERD_NAME = "io.containerd.image.name"
REF_NAME = "org.opencontainers.image.ref.name"

_GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
_CHUNK_BYTES = 1 << 20


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A reference to a blob."""

    media_type: str = ""
    digest: str
    size: int
    annotations: dict[str, str] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An image: its configuration and its layers."""

    schema_version: int = 2
    media_type: str = MANIFEST
    config: Descriptor
    layers: list[Descriptor]
    annotations: dict[str, str] = {}


class Index(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The images of a layout."""

    schema_version: int = 2
    manifests: list[Descriptor]


def encode(value: Manifest | Index) -> bytes:
    """The bytes of a blob."""
    return msgspec.json.encode(value)


def digest(content: bytes) -> str:
    """The name of a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def file_digest(path: Path) -> str:
    """The name of a large blob."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def configuration(layers: Sequence[str], *, settings: Mapping[str, Any], created: str) -> bytes:
    """The configuration of an image of uncompressed layers."""
    return msgspec.json.encode(
        {
            "created": created,
            "architecture": architecture(),
            "os": "linux",
            "config": dict(settings),
            "rootfs": {"type": "layers", "diff_ids": list(layers)},
            "history": [{"created": created} for _ in layers],
        }
    )


def without_comments(config: bytes) -> bytes:
    """A configuration without the comments of buildah, which name files of this machine."""
    found: dict[str, Any] = msgspec.json.decode(config)
    for step in found.get("history", ()):
        step.pop("comment", None)
    return msgspec.json.encode(found)


def architecture() -> str:
    """This machine's processor, as images name it."""
    return _GO_NAMES.get(platform.machine(), platform.machine())
