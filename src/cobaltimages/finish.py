"""Metadata of a built image: version, SBOM, signatures, record."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from cobaltcore.runtime import files
from cobaltimages import (
    inputs,
    inventory,
    recipe,
    release,
    sbom,
    signing,
    sources,
    store,
)


def record(
    target: recipe.Recipe,
    build_inputs: inputs.Inputs,
    built: "Built",
    *,
    parents: Mapping[str, store.Record],
    context: "Context",
) -> store.Record:
    """Write the SBOM, the signatures and the record of a built image."""
    image_store, digest = context.image_store, built.digest
    layers = {layer.digest: layer.size for layer in image_store.manifest(digest).layers}
    packages = inventory.merge(layer_inventory(image_store, layer) for layer in layers)
    version = build_inputs.version or debian_version(packages, target.version_package)
    patches = sorted({*build_inputs.patches, *inherited(target, layers, parents)})
    subject = sbom.Subject(
        name=target.name,
        version=version,
        repository=target.repository,
        digest=digest,
        created=datetime.fromtimestamp(inputs.epoch(context.pinned), UTC).isoformat(),
    )
    document = sbom.document(
        subject,
        packages,
        patches=[_patch(context.tree, path) for path in patches],
        overrides=context.pinned.overrides.replaced,
    )
    _write_sbom(image_store, context.pinned.name, target.name, document)
    attachments = signing.attach(
        image_store, context.keys, repository=target.repository, digest=digest, document=document
    )
    found = store.Record(
        name=target.name,
        release=context.pinned.name,
        version=version,
        inputs=build_inputs.key,
        parents={name: parent.parent_digest for name, parent in parents.items()},
        archive=built.archive,
        base=build_inputs.arguments.get("BASE", ""),
        digest=digest,
        layers=layers,
        patches=patches,
        aliases=list(target.aliases),
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        attachments=attachments,
        inputs_below_agents=build_inputs.key_below_agents if build_inputs.agents else "",
        digest_below_agents=built.digest_below_agents if build_inputs.agents else "",
    )
    image_store.remember(found)
    return found


def reuse(image_store: store.Store, earlier: store.Record) -> None:
    """Make an earlier build of an image the current one."""
    document = signing.attested_sbom(image_store, earlier.attachments[signing.ATTESTATION])
    _write_sbom(image_store, earlier.release, earlier.name, document)
    image_store.remember(earlier)


def _write_sbom(
    image_store: store.Store, release_name: str, image: str, document: Mapping[str, Any]
) -> None:
    path = image_store.sbom / release_name / f"{image}.cdx.json"
    path.parent.mkdir(exist_ok=True)
    files.replace(path, sbom.encode(document), mode=0o644)


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a build: the image, the same without agents, the state of Debian's archive."""

    digest: str
    digest_below_agents: str
    archive: str


class Context(msgspec.Struct, kw_only=True):
    """What is the same for all images of one run."""

    tree: sources.Sources
    pinned: release.Release
    image_store: store.Store
    keys: signing.Keys
    archive: str = ""


def inherited(
    target: recipe.Recipe, layers: Iterable[str], parents: Mapping[str, store.Record]
) -> set[str]:
    """Patches of base images; images that are used only as build tools have no layer in it."""
    own = set(layers)
    below = [parents[name] for name in target.parents if set(parents[name].parent_layers) <= own]
    return {path for record in below for path in record.patches}


def debian_version(packages: Iterable[inventory.Package], name: str) -> str:
    """The upstream version of an installed Debian package."""
    versions = {p.name: p.version for p in packages if p.kind == "deb"}
    return inventory.upstream_version(versions[name])


def layer_inventory(image_store: store.Store, digest: str) -> inventory.Layer:
    """Packages of a layer; read once, then cached in the store."""
    path = image_store.directory / "inventory" / f"{digest.removeprefix('sha256:')}.json"
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=inventory.Layer)
    found = inventory.read_layer(image_store.blob(digest))
    path.parent.mkdir(exist_ok=True)
    files.replace(path, msgspec.json.encode(found), mode=0o644)
    return found


def _patch(tree: sources.Sources, path: str) -> sbom.Patch:
    text = (tree.root / path).read_text()
    (package,) = release.in_index_names([path.split("/")[-3]])
    return sbom.Patch(package=package, path=path, text=text)
