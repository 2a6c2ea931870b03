"""The store of built images: one OCI layout, so that shared layers exist once on disk.

A record of each image has its inputs. The index is written from the records, so an interrupted build
leaves unreferenced blobs and nothing else.
"""

import errno
import fcntl
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO

import msgspec

from cobaltcore.runtime import files
from cobaltimages import errors, oci

RECORD_FORMAT = 1
# Builds that are kept per image, so that switching branches needs no rebuild.
BUILDS_KEPT = 3


class Busy(errors.HostError):
    """Another build works in the store."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Inputs and result of the build of an image."""

    name: str
    release: str
    version: str
    inputs: str
    parents: dict[str, str]
    archive: str
    base: str = ""
    digest: str
    layers: dict[str, int]
    patches: list[str] = []
    aliases: list[str] = []
    built: str = ""
    attachments: dict[str, str] = {}
    inputs_below_agents: str = ""
    digest_below_agents: str = ""
    """The image without its layer of agents, if it has one."""
    format: int = RECORD_FORMAT

    @property
    def parent_digest(self) -> str:
        """The image that others are built on."""
        return self.digest_below_agents or self.digest

    @property
    def parent_layers(self) -> list[str]:
        """The layers that other images share."""
        return [*self.layers][:-1] if self.digest_below_agents else [*self.layers]

    @property
    def size(self) -> int:
        """Bytes of all layers, unpacked as they are stored."""
        return sum(self.layers.values())


@dataclass(frozen=True, slots=True)
class Store:
    """The directory of the layout."""

    directory: Path

    @property
    def blobs(self) -> Path:
        """Content by its digest."""
        return self.directory / "blobs" / "sha256"

    @property
    def logs(self) -> Path:
        """Logs of builds, one file per image."""
        return self.directory / "log"

    @property
    def sbom(self) -> Path:
        """SBOMs, one file per image."""
        return self.directory / "sbom"

    def prepare(self) -> None:
        """Create the directories."""
        for folder in (self.blobs, self.logs, self.sbom, self.directory / "records"):
            folder.mkdir(parents=True, exist_ok=True)
        files.replace(self.directory / "oci-layout", b'{"imageLayoutVersion":"1.0.0"}', mode=0o644)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the store for one build; the lock is released when the process ends."""
        self.prepare()
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise Busy(
                f"another build is using {self.directory}",
                hint="wait until it has finished, then run the command again",
            ) from error
        finally:
            os.close(handle)

    def blob(self, digest: str) -> Path:
        """The file of a blob."""
        return self.blobs / digest.removeprefix("sha256:")

    def manifest(self, digest: str) -> oci.Manifest:
        """The manifest of an image."""
        return msgspec.json.decode(self.blob(digest).read_bytes(), type=oci.Manifest)

    def add(self, content: bytes) -> oci.Descriptor:
        """Keep a small blob."""
        found = oci.Descriptor(digest=oci.digest(content), size=len(content))
        if not self.blob(found.digest).exists():
            files.replace(self.blob(found.digest), content, mode=0o644)
        return found

    def add_layer(self, tar: Path) -> oci.Descriptor:
        """Move an uncompressed layer into the store."""
        found = oci.Descriptor(
            media_type=oci.LAYER, digest=oci.file_digest(tar), size=tar.stat().st_size
        )
        shutil.move(tar, self.blob(found.digest))
        return found

    def lend(self, layout: Path, digests: Iterable[str]) -> None:
        """Link the blobs of base images into a layout that is being built."""
        target = layout / "blobs" / "sha256"
        target.mkdir(parents=True, exist_ok=True)
        for digest in digests:
            os.link(self.blob(digest), target / self.blob(digest).name)

    def share(self, layout: Path, digests: Iterable[str]) -> bool:
        """Link whole images into a layout; return whether that was possible."""
        target = layout / "blobs" / "sha256"
        target.mkdir(parents=True, exist_ok=True)
        for digest in self._closure(digests):
            with suppress(FileExistsError):
                try:
                    os.link(self.blob(digest), target / self.blob(digest).name)
                except OSError as error:
                    if error.errno in {errno.EXDEV, errno.EPERM, errno.EMLINK}:
                        return False
                    raise
        return True

    def write_layout(self, layout: Path, digest: str) -> None:
        """Write the index of a layout of one image from linked blobs."""
        entry = oci.Descriptor(
            media_type=oci.MANIFEST,
            digest=digest,
            size=self.blob(digest).stat().st_size,
            annotations={oci.REF_NAME: "latest"},
        )
        (layout / "index.json").write_bytes(oci.encode(oci.Index(manifests=[entry])))
        (layout / "oci-layout").write_bytes((self.directory / "oci-layout").read_bytes())

    def adopt(self, layout: Path) -> str:
        """Move the one image of a finished layout into the store; return its digest."""
        index = msgspec.json.decode((layout / "index.json").read_bytes(), type=oci.Index)
        (entry,) = index.manifests
        for blob in (layout / "blobs" / "sha256").iterdir():
            blob.replace(self.blobs / blob.name)
        shutil.rmtree(layout)
        return self._without_build_directory(entry.digest)

    def _without_build_directory(self, digest: str) -> str:
        """The image without the build directory in its history."""
        manifest = self.manifest(digest)
        content = self.blob(manifest.config.digest).read_bytes()
        config = self.add(oci.without_comments(content))
        described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
        return self.add(oci.encode(msgspec.structs.replace(manifest, config=described))).digest

    def records(self, release: str) -> dict[str, Record]:
        """Records of the images of a release; those of another format are ignored."""
        found = self._read((self.directory / "records" / release).glob("*.json"))
        return {record.name: record for record in found}

    def builds(self, release: str, name: str = "*") -> list[Record]:
        """The last builds of an image, the newest first; of all images if none is named."""
        paths = list((self.directory / "records" / release / "builds").glob(f"{name}/*.json"))
        return list(self._read(sorted(paths, key=lambda path: -path.stat().st_mtime_ns)))

    def remember(self, record: Record) -> None:
        """Write a record; forget the oldest builds of the image."""
        directory = self.directory / "records" / record.release
        own = directory / "builds" / record.name
        own.mkdir(parents=True, exist_ok=True)
        content = msgspec.json.encode(record)
        build = own / f"{oci.digest(content).removeprefix('sha256:')[:16]}.json"
        for path in (build, directory / f"{record.name}.json"):
            files.replace(path, content, mode=0o644)
        oldest = sorted(own.glob("*.json"), key=lambda path: -path.stat().st_mtime_ns)
        for path in oldest[BUILDS_KEPT:]:
            path.unlink()

    def _read(self, paths: Iterable[Path]) -> Iterator[Record]:
        for path in paths:
            try:
                record = msgspec.json.decode(path.read_bytes(), type=Record)
            except msgspec.MsgspecError:
                continue
            if record.format == RECORD_FORMAT and self.blob(record.digest).exists():
                yield record

    def releases(self) -> list[str]:
        """The releases that have records."""
        return sorted(path.name for path in (self.directory / "records").glob("*"))

    def write_index(self, references: Mapping[str, str]) -> None:
        """Name images: reference → digest."""
        content = self._index(references)
        path = self.directory / "index.json"
        if not path.exists() or path.read_bytes() != content:
            files.replace(path, content, mode=0o644)

    def archive(self, references: Mapping[str, str], target: IO[bytes]) -> None:
        """Write images as an OCI archive, shared layers once."""
        with tarfile.open(fileobj=target, mode="w|") as tar:
            _add_file(tar, "oci-layout", (self.directory / "oci-layout").read_bytes())
            _add_file(tar, "index.json", self._index(references))
            for digest in self._closure(references.values()):
                path = self.blob(digest)
                member = tarfile.TarInfo(f"blobs/sha256/{path.name}")
                member.size, member.mode = path.stat().st_size, 0o644
                with path.open("rb") as content:
                    tar.addfile(member, content)

    def collect_garbage(self) -> None:
        """Remove blobs that no record refers to."""
        digests: set[str] = set()
        for release in self.releases():
            for record in (*self.records(release).values(), *self.builds(release)):
                digests.update((record.digest, record.parent_digest, *record.attachments.values()))
        image_store = {self.blob(digest).name for digest in self._closure(digests)}
        for blob in self.blobs.iterdir():
            if blob.name not in image_store:
                blob.unlink()

    def _closure(self, digests: Iterable[str]) -> Iterator[str]:
        seen: set[str] = set()
        for digest in digests:
            manifest = self.manifest(digest)
            for part in (digest, manifest.config.digest, *(la.digest for la in manifest.layers)):
                if part not in seen:
                    seen.add(part)
                    yield part

    def _index(self, references: Mapping[str, str]) -> bytes:
        entries = [
            oci.Descriptor(
                media_type=oci.MANIFEST,
                digest=digest,
                size=self.blob(digest).stat().st_size,
                annotations={oci.CONTAINERD_NAME: name, oci.REF_NAME: name},
            )
            for name, digest in sorted(references.items())
        ]
        return oci.encode(oci.Index(manifests=entries))


def _add_file(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    tar.addfile(member, BytesIO(content))
