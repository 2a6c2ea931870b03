"""The images that are there: names, tags, sizes, signatures, and whether they are up to date."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from cobaltcore.lab import errors
from cobaltcore.lab.images import inputs, recipe, release, signing, sources, store, tags

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
    materials: str = ""
    built: str = ""
    is_signed: bool = False


class Catalogue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All images of a release; `unpacked_bytes` counts shared layers once."""

    release: str
    directory: str
    public_key: str
    unpacked_bytes: int
    images: list[Image]


def look(tree: sources.Sources, kept: store.Store, name: str) -> Catalogue:
    """What is there of a release."""
    pinned = release.read(tree, name)
    records = kept.records(name)
    keys = signing.Keys(kept.directory / "keys")
    commit = tags.commit(tree.root, INPUT_FOLDERS)
    recipes = recipe.read_all(tree) if records else {}
    states = _states(tree, pinned, recipes, records)
    images = [
        _image(recipes[each], records[each], kept, keys, commit, state)
        if each in records
        else Image(repository=recipes[each].repository, tags=[], state=state)
        for each, state in states.items()
    ]
    layers = {layer: size for record in records.values() for layer, size in record.layers.items()}
    return Catalogue(
        release=name,
        directory=str(kept.directory),
        public_key=str(keys.public_file),
        unpacked_bytes=sum(layers.values()),
        images=images,
    )


def references(
    tree: sources.Sources, kept: store.Store, name: str, wanted: Iterable[str] = ()
) -> dict[str, str]:
    """Reference → digest of images of a release, all or some."""
    records = kept.records(name)
    names = list(wanted) or list(records)
    if missing := [each for each in names if each not in records]:
        raise errors.LabError(
            f"not built: {', '.join(missing)}",
            hint=f"cobalt images build {' '.join(missing)}",
        )
    commit = tags.commit(tree.root, INPUT_FOLDERS)
    found: dict[str, str] = {}
    for record in (records[each] for each in names):
        own = [f"{recipe.REGISTRY}/{record.name}:{tag}" for tag in record_tags(record, commit)]
        found |= dict.fromkeys([*own, *record.aliases], record.digest)
    return found


def write_index(tree: sources.Sources, kept: store.Store) -> None:
    """Name every image in the store by all its tags, and what belongs to it by its digest."""
    found: dict[str, str] = {}
    for name in kept.releases():
        found |= references(tree, kept, name)
        for record in kept.records(name).values():
            for kind, digest in record.attachments.items():
                tag = signing.tag(record.digest, kind)
                found[f"{recipe.REGISTRY}/{record.name}:{tag}"] = digest
    kept.write_index(found)


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
    for name, made in recipes.items():
        record = records.get(name)
        if record is None:
            states[name] = "missing"
            continue
        base = record.base
        is_same = record.inputs == inputs.gather(tree, pinned, made, base=base).key and all(
            states[parent] == "current" and records[parent].digest == record.parents.get(parent)
            for parent in made.parents
        )
        states[name] = "current" if is_same else "outdated"
    return states


def _image(
    made: recipe.Recipe,
    record: store.Record,
    kept: store.Store,
    keys: signing.Keys,
    commit: tags.Commit | None,
    state: State,
) -> Image:
    *_, top = record.layers.values()
    signature = record.attachments.get(signing.SIGNATURE, "")
    is_signed = signing.is_valid(kept, keys.public(), digest=record.digest, signature=signature)
    return Image(
        repository=made.repository,
        tags=record_tags(record, commit),
        state=state,
        version=record.version,
        digest=record.digest,
        size_bytes=record.size,
        own_bytes=top,
        patches=record.patches,
        materials=str(kept.materials / record.release / f"{record.name}.cdx.json"),
        built=record.built,
        is_signed=is_signed,
    )
