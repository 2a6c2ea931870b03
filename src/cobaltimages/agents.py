"""The agents of an image: a last layer with the modules that its pods run, and their command.

It is added to the result of the Containerfile, so a changed agent rebuilds nothing else; images that
are built on this one use the layers below it.
"""

import io
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cobaltimages import errors, oci, sources, store

HOME = "usr/lib/cobalt-agent"
COMMAND = "usr/bin/cobalt-agent"
PACKAGE = "cobaltcore/agents"


@dataclass(frozen=True, slots=True)
class File:
    """One file of the layer."""

    path: str
    content: bytes
    mode: int = 0o644


def files(tree: sources.Sources, groups: Sequence[str], *, version: str) -> tuple[File, ...]:
    """What an image with agents of some groups holds, directories' modules in order."""
    if not groups:
        return ()
    found = [File(COMMAND, (tree.agents / "cobalt-agent").read_bytes(), 0o755)]
    for folder in (tree.agents, *(_group(tree, group) for group in groups)):
        place = PACKAGE if folder == tree.agents else f"{PACKAGE}/{folder.name}"
        found += [
            File(f"{HOME}/{place}/{module.name}", module.read_bytes())
            for module in sorted(folder.glob("*.py"))
        ]
    name = f"{HOME}/cobaltcore_agents-{version}.dist-info/METADATA"
    return (*found, File(name, _metadata(version)))


def _group(tree: sources.Sources, name: str) -> Path:
    for folder in (tree.agents / name, tree.lab_agents / name):
        if folder.is_dir():
            return folder
    raise errors.HostError(
        f"there is no group of agents {name!r} in {tree.agents} or {tree.lab_agents}"
    )


def add(image_store: store.Store, digest: str, members: Sequence[File], *, epoch: int) -> str:
    """Put files on an image as its last layer; return the digest of the image that has them."""
    tar = image_store.directory / "tmp" / f"{digest.removeprefix('sha256:')}-agents.tar"
    tar.write_bytes(layer(members, epoch=epoch))
    added = image_store.add_layer(tar)
    below = image_store.manifest(digest)
    config = msgspec.json.decode(image_store.blob(below.config.digest).read_bytes())
    config["rootfs"]["diff_ids"].append(added.digest)
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config.setdefault("history", []).append({"created": created, "created_by": "agents"})
    written = image_store.add(msgspec.json.encode(config))
    described = oci.Descriptor(media_type=oci.CONFIG, digest=written.digest, size=written.size)
    return image_store.add(
        oci.encode(msgspec.structs.replace(below, config=described, layers=[*below.layers, added]))
    ).digest


def layer(members: Sequence[File], *, epoch: int) -> bytes:
    """The layer; deterministic."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in _folders(members):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, epoch
            tar.addfile(entry)
        for each in members:
            entry = tarfile.TarInfo(each.path)
            entry.size, entry.mode, entry.mtime = len(each.content), each.mode, epoch
            tar.addfile(entry, io.BytesIO(each.content))
    return target.getvalue()


def _folders(members: Sequence[File]) -> Iterator[str]:
    """Directories of the agents; those above them are there already."""
    paths = {Path(HOME)}
    for each in members:
        if each.path.startswith(f"{HOME}/"):
            paths |= {up for up in Path(each.path).parents if up.is_relative_to(HOME)}
    return map(str, sorted(paths))


def _metadata(version: str) -> bytes:
    """Python metadata, so that the agents are a package in the SBOM."""
    fields = {
        "Metadata-Version": "2.4",
        "Name": "cobaltcore-agents",
        "Version": version,
        "License-Expression": "Apache-2.0",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode()
