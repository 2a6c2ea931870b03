"""The images of a store: names, tags, sizes, signatures, and whether they are up to date."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from cobaltimages import errors, inputs, recipe, release, signing, sources, store, tags

State = Literal["current", "outdated", "missing"]

# What decides about an image's content; a commit names an image only if these are committed.
INPUT_FOLDERS = ("images", "releases", "patches", "overrides", "src", "pyproject.toml", "uv.lock")


class Image(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One image; `own_bytes` are those that no other image below it has."""

    repository: str
    tags: list[str]
    state: State
    version: str = ""
    digest: str = ""
    size_bytes: int = 0
    own_bytes: int = 0
    patches: list[str] = []
    sbom: str = ""
    built: str = ""
    is_signed: bool = False


class Catalogue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All images of a release; `unpacked_bytes` counts shared layers once."""

    release: str
    directory: str
    public_key: str
    unpacked_bytes: int
    images: list[Image]


def load(tree: sources.Sources, image_store: store.Store, name: str) -> Catalogue:
    """The images of a release."""
    pinned = release.read(tree, name)
    records = image_store.records(name)
    keys = signing.Keys(image_store.directory / "keys")
    commit = tags.commit(tree.root, INPUT_FOLDERS)
    recipes = recipe.read_all(tree) if records else {}
    states = _states(tree, pinned, recipes, records)
    images = [
        _image(recipes[each], records[each], image_store, keys, commit, state)
        if each in records
        else Image(repository=recipes[each].repository, tags=[], state=state)
        for each, state in states.items()
    ]
    layers = {layer: size for record in records.values() for layer, size in record.layers.items()}
    return Catalogue(
        release=name,
        directory=str(image_store.directory),
        public_key=str(keys.public_file),
        unpacked_bytes=sum(layers.values()),
        images=images,
    )


def references(
    tree: sources.Sources, image_store: store.Store, name: str, wanted: Iterable[str] = ()
) -> dict[str, str]:
    """Reference → digest of images of a release, all or some."""
    records = image_store.records(name)
    names = list(wanted) or list(records)
    if missing := [each for each in names if each not in records]:
        raise errors.HostError(
            f"not built: {', '.join(missing)}",
            hint=f"cobalt images build {' '.join(missing)}",
        )
    commit = tags.commit(tree.root, INPUT_FOLDERS)
    found: dict[str, str] = {}
    for record in (records[each] for each in names):
        own = [f"{recipe.REGISTRY}/{record.name}:{tag}" for tag in record_tags(record, commit)]
        found |= dict.fromkeys([*own, *record.aliases], record.digest)
    return found


def attachments(image_store: store.Store, name: str, wanted: Iterable[str] = ()) -> dict[str, str]:
    """Reference → digest of signatures and SBOMs of images of a release, all or some."""
    records = image_store.records(name)
    names = list(wanted) or list(records)
    return {
        f"{recipe.REGISTRY}/{each}:{signing.tag(records[each].digest, kind)}": digest
        for each in names
        for kind, digest in records[each].attachments.items()
    }


def write_index(tree: sources.Sources, image_store: store.Store) -> None:
    """Name every image in the store by all its tags, and what belongs to it by its digest."""
    found: dict[str, str] = {}
    for name in image_store.releases():
        found |= references(tree, image_store, name) | attachments(image_store, name)
    image_store.write_index(found)


def record_tags(record: store.Record, commit: tags.Commit | None) -> list[str]:
    """The tags of an image."""
    return tags.tags(
        record.version, release=record.release, patches=len(record.patches), commit=commit
    )


def _states(
    tree: sources.Sources,
    pinned: release.Release,
    recipes: Mapping[str, recipe.Recipe],
    records: Mapping[str, store.Record],
) -> dict[str, State]:
    states: dict[str, State] = {}
    current_below_agents: set[str] = set()
    for name, target in recipes.items():
        record = records.get(name)
        if record is None:
            states[name] = "missing"
            continue
        wanted = inputs.gather(tree, pinned, target, base=record.base)
        has_parents = all(
            parent in current_below_agents
            and records[parent].parent_digest == record.parents.get(parent)
            for parent in target.parents
        )
        if (
            has_parents
            and (record.inputs_below_agents or record.inputs) == wanted.key_below_agents
        ):
            current_below_agents.add(name)
        states[name] = "current" if has_parents and record.inputs == wanted.key else "outdated"
    return states


def _image(
    target: recipe.Recipe,
    record: store.Record,
    image_store: store.Store,
    keys: signing.Keys,
    commit: tags.Commit | None,
    state: State,
) -> Image:
    # Its own layer, and that of its agents if there are any.
    own = list(record.layers.values())[len(record.parent_layers) - 1 :]
    signature = record.attachments.get(signing.SIGNATURE, "")
    is_signed = signing.is_valid(
        image_store, keys.public(), digest=record.digest, signature=signature
    )
    return Image(
        repository=target.repository,
        tags=record_tags(record, commit),
        state=state,
        version=record.version,
        digest=record.digest,
        size_bytes=record.size,
        own_bytes=sum(own),
        patches=record.patches,
        sbom=str(image_store.sbom / record.release / f"{record.name}.cdx.json"),
        built=record.built,
        is_signed=is_signed,
    )
