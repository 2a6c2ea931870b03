"""Where built images are kept: one OCI layout for all, so that shared layers exist once on disk.

A record beside it says what each image was made from. The index is written from the records, so a
build that ends half-way leaves blobs that nobody refers to and nothing else.
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

from cobaltcore.lab import errors
from cobaltcore.lab.images import oci
from cobaltcore.runtime import files

RECORD_FORMAT = 1
# Builds of each image that are kept, for those who go back and forth between branches.
BUILDS_KEPT = 3


class Busy(errors.LabError):
    """Another build works in the store."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an image was made from and what came out."""

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
    format: int = RECORD_FORMAT

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
        """What build steps said."""
        return self.directory / "log"

    @property
    def materials(self) -> Path:
        """Bills of material, one file per image."""
        return self.directory / "sbom"

    def prepare(self) -> None:
        """Make the directories."""
        for folder in (self.blobs, self.logs, self.materials, self.directory / "records"):
            folder.mkdir(parents=True, exist_ok=True)
        files.replace(self.directory / "oci-layout", b'{"imageLayoutVersion":"1.0.0"}', mode=0o644)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one build at a time change the store; the lock goes with the process."""
        self.prepare()
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise Busy(
                f"another build works in {self.directory} right now",
                hint="wait until it has ended, then try again",
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
        """Take over an uncompressed layer."""
        found = oci.Descriptor(
            media_type=oci.LAYER, digest=oci.file_digest(tar), size=tar.stat().st_size
        )
        shutil.move(tar, self.blob(found.digest))
        return found

    def lend(self, layout: Path, digests: Iterable[str]) -> None:
        """Give a layout under construction the blobs it builds on."""
        target = layout / "blobs" / "sha256"
        target.mkdir(parents=True, exist_ok=True)
        for digest in digests:
            os.link(self.blob(digest), target / self.blob(digest).name)

    def share(self, layout: Path, digests: Iterable[str]) -> bool:
        """Give whole images to a layout by links; tell whether that was possible."""
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
        """Make a layout of one image from lent blobs."""
        entry = oci.Descriptor(
            media_type=oci.MANIFEST,
            digest=digest,
            size=self.blob(digest).stat().st_size,
            annotations={oci.REF_NAME: "latest"},
        )
        (layout / "index.json").write_bytes(oci.encode(oci.Index(manifests=[entry])))
        (layout / "oci-layout").write_bytes((self.directory / "oci-layout").read_bytes())

    def adopt(self, layout: Path) -> str:
        """Take over the one image of a finished layout; return its digest."""
        index = msgspec.json.decode((layout / "index.json").read_bytes(), type=oci.Index)
        (entry,) = index.manifests
        for blob in (layout / "blobs" / "sha256").iterdir():
            blob.replace(self.blobs / blob.name)
        shutil.rmtree(layout)
        return self._without_places(entry.digest)

    def _without_places(self, digest: str) -> str:
        """An image whose history does not tell in which directory it was built."""
        manifest = self.manifest(digest)
        content = self.blob(manifest.config.digest).read_bytes()
        config = self.add(oci.without_comments(content))
        described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
        return self.add(oci.encode(msgspec.structs.replace(manifest, config=described))).digest

    def records(self, release: str) -> dict[str, Record]:
        """What is known about the images of a release; records of another format are none."""
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
                digests.update((record.digest, *record.attachments.values()))
        kept = {self.blob(digest).name for digest in self._closure(digests)}
        for blob in self.blobs.iterdir():
            if blob.name not in kept:
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
