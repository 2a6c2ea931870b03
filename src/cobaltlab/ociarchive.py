"""Writes container images `FROM scratch` as OCI archives, without a build tool. Pure.

Reproducible: the tag is a digest of the content, so a node that has the tag has the image.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

REGISTRY = "lab.cobaltcore.local"

_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "index.json"
_NAME = "io.containerd.image.name"
_GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}

Content: TypeAlias = bytes | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of one layer: files by path, and symbolic links."""

    name: str
    entrypoint: Sequence[str]
    programs: Mapping[str, Content]
    links: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, slots=True)
class Archive:
    """An OCI archive and the reference of its image."""

    reference: str
    content: bytes


def archive(image: Image) -> Archive:
    layer = _layer(image)
    blobs = {_digest(layer): layer}
    config = _add(blobs, _config(image, _digest(layer)))
    manifest = _add(
        blobs,
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config, blobs),
            "layers": [_descriptor(_LAYER, _digest(layer), blobs)],
        },
    )
    reference = f"{REGISTRY}/{image.name}:{manifest[:12]}"
    entry = _descriptor(_MANIFEST, manifest, blobs)
    entry["annotations"] = {
        _NAME: reference,
        "org.opencontainers.image.ref.name": reference,
    }
    files = {
        _INDEX: _json({"schemaVersion": 2, "manifests": [entry]}),
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        **{f"blobs/sha256/{digest}": blob for digest, blob in blobs.items()},
    }
    return Archive(reference, _tar(files, {}, mode=0o644))


def reference(path: Path) -> str:
    """The reference of the image in an archive; the index is its first member."""
    with tarfile.open(path) as tar:
        index = tar.extractfile(_INDEX)
        entries: list[dict[str, Any]] = json.load(index)["manifests"] if index else []
    return str(entries[0]["annotations"][_NAME])


def _layer(image: Image) -> bytes:
    programs = {
        path: content.read_bytes() if isinstance(content, Path) else content
        for path, content in image.programs.items()
    }
    return _tar(programs, image.links, mode=0o755)


def _config(image: Image, layer: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"Entrypoint": list(image.entrypoint), "Env": ["PATH=/bin:/"]}
    settings |= {"User": image.user} if image.user else {}
    return {
        "architecture": _GO_NAMES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
    }


def _add(blobs: dict[str, bytes], value: Mapping[str, Any]) -> str:
    content = _json(value)
    blobs[_digest(content)] = content
    return _digest(content)


def _descriptor(media_type: str, digest: str, blobs: Mapping[str, bytes]) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(blobs[digest])}


def _tar(files: Mapping[str, bytes], links: Mapping[str, str], *, mode: int) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
        for path, destination in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, destination
            tar.addfile(member)
    return target.getvalue()


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
