"""Collects the options that services read, from their images, for the checks at admission."""

from collections.abc import Iterator

from cobaltcore.runtime import files
from cobaltimages import builddir, errors, recipe, sources, store

PROGRAM = "collect-options"
AGENTS = "config"
"""The group of agents of images with services: they list the options."""


def update(tree: sources.Sources, image_store: store.Store, release: str) -> list[str]:
    """Write the options of all services of a release; return the services."""
    names = []
    for name, found in collected(tree, image_store, release):
        path = tree.options(name, release)
        path.parent.mkdir(exist_ok=True)
        files.replace(path, found, mode=0o644)
        names.append(name)
    return names


def collected(
    tree: sources.Sources, image_store: store.Store, release: str
) -> Iterator[tuple[str, bytes]]:
    """What the images of services read, as JSON."""
    records = image_store.records(release)
    names = [each.name for each in recipe.read_all(tree).values() if AGENTS in each.agents]
    if missing := [name for name in names if name not in records]:
        raise errors.HostError(
            f"{image_store.directory} has no image of {', '.join(missing)}",
            hint=f"build them with: cobalt images build {' '.join(missing)}",
        )
    with image_store.locked(), builddir.opened(image_store) as build_dir:
        for name in names:
            yield name, build_dir.options(records[name], tree.tools / PROGRAM)
            build_dir.release_space(name)
