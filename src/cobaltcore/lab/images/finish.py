"""What comes with each built image: its version, its bill of material, its signatures."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from cobaltcore.lab.images import (
    inputs,
    inventory,
    materials,
    recipe,
    release,
    signing,
    sources,
    store,
)
from cobaltcore.runtime import files


def record(
    made: recipe.Recipe,
    given: inputs.Inputs,
    digest: str,
    *,
    parents: Mapping[str, store.Record],
    context: "Context",
) -> store.Record:
    """Describe, sign and remember a built image."""
    kept = context.kept
    layers = {layer.digest: layer.size for layer in kept.manifest(digest).layers}
    packages = inventory.merge(layer_inventory(kept, layer) for layer in layers)
    version = given.version or debian_version(packages, made.version_package)
    patches = sorted({*given.patches, *inherited(made, layers, parents)})
    subject = materials.Subject(
        name=made.name,
        version=version,
        repository=made.repository,
        digest=digest,
        created=datetime.fromtimestamp(inputs.epoch(context.pinned), UTC).isoformat(),
    )
    bill = materials.bill(
        subject,
        packages,
        patches=[_patch(context.tree, path) for path in patches],
        overrides=context.pinned.overrides.replaced,
    )
    _write_bill(kept, context.pinned.name, made.name, bill)
    attachments = signing.attach(
        kept, context.keys, repository=made.repository, digest=digest, bill=bill
    )
    found = store.Record(
        name=made.name,
        release=context.pinned.name,
        version=version,
        inputs=given.key,
        parents={name: parent.digest for name, parent in parents.items()},
        archive=context.archive,
        base=given.arguments.get("BASE", ""),
        digest=digest,
        layers=layers,
        patches=patches,
        aliases=list(made.aliases),
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        attachments=attachments,
    )
    kept.remember(found)
    return found


def take_again(kept: store.Store, earlier: store.Record) -> None:
    """Make an earlier build of an image the current one."""
    bill = signing.attested_bill(kept, earlier.attachments[signing.ATTESTATION])
    _write_bill(kept, earlier.release, earlier.name, bill)
    kept.remember(earlier)


def _write_bill(kept: store.Store, release_name: str, image: str, bill: Mapping[str, Any]) -> None:
    path = kept.materials / release_name / f"{image}.cdx.json"
    path.parent.mkdir(exist_ok=True)
    files.replace(path, materials.encode(bill), mode=0o644)


class Context(msgspec.Struct, kw_only=True):
    """What all images of one run have in common."""

    tree: sources.Sources
    pinned: release.Release
    kept: store.Store
    keys: signing.Keys
    archive: str = ""


def inherited(
    made: recipe.Recipe, layers: Iterable[str], parents: Mapping[str, store.Record]
) -> set[str]:
    """Patches of the images whose layers this one stands on; build tools leave no layer."""
    own = set(layers)
    below = [parents[name] for name in made.parents if set(parents[name].layers) <= own]
    return {path for record in below for path in record.patches}


def debian_version(packages: Iterable[inventory.Package], name: str) -> str:
    """The upstream version of an installed Debian package."""
    versions = {p.name: p.version for p in packages if p.kind == "deb"}
    return inventory.upstream_version(versions[name])


def layer_inventory(kept: store.Store, digest: str) -> inventory.Layer:
    """What a layer holds, read once and remembered."""
    path = kept.directory / "inventory" / f"{digest.removeprefix('sha256:')}.json"
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=inventory.Layer)
    found = inventory.read_layer(kept.blob(digest))
    path.parent.mkdir(exist_ok=True)
    files.replace(path, msgspec.json.encode(found), mode=0o644)
    return found


def _patch(tree: sources.Sources, path: str) -> materials.Patch:
    text = (tree.root / path).read_text()
    (package,) = release.in_index_names([path.split("/")[-3]])
    return materials.Patch(package=package, path=path, text=text)
