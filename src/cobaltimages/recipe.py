"""Recipes of images: the folders under `images/`, and their base images."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from cobaltimages import errors, sources

REGISTRY = "ghcr.io/c5c3"
ROOT_FILE_SYSTEM = "debian"
CONTAINERFILE = "Containerfile"
CHECK = "check"

_USES_IMAGE = re.compile(rf"^ARG \w+={re.escape(REGISTRY)}/([a-z0-9-]+)", re.MULTILINE)
_MOUNTS_CONTEXT = re.compile(r"--mount=type=bind,from=([a-z-]+)")
_VERSION_OF = re.compile(r'^LABEL io\.c5c3\.version-of="?([a-z0-9.+-]+)"?$', re.MULTILINE)
_AGENTS = re.compile(r'^LABEL io\.c5c3\.agents="?([a-z ]+)"?$', re.MULTILINE)
_ALSO_KNOWN_AS = re.compile(r'^LABEL io\.c5c3\.also-known-as="?([^"\n]+)"?$', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One image: its folder and what its Containerfile refers to."""

    name: str
    directory: Path
    parents: tuple[str, ...] = ()
    contexts: frozenset[str] = frozenset()
    version_package: str = ""
    aliases: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Groups of agents that its pods run."""

    @property
    def is_root_file_system(self) -> bool:
        """Whether it is built of Debian packages directly, not from a Containerfile."""
        return self.name == ROOT_FILE_SYSTEM

    @property
    def repository(self) -> str:
        """The image's name in a registry, without a tag."""
        return f"{REGISTRY}/{self.name}"


def read_all(tree: sources.Sources) -> dict[str, Recipe]:
    """All recipes, base images first."""
    folders = sorted(path.parent for path in tree.images.glob(f"*/{CHECK}"))
    found = {folder.name: read(folder) for folder in folders}
    for recipe in found.values():
        if unknown := [parent for parent in recipe.parents if parent not in found]:
            raise errors.HostError(
                f"{recipe.directory / CONTAINERFILE} uses the image {', '.join(unknown)}, "
                f"but {tree.images} has no folder of that name with a {CHECK} script"
            )
    order = TopologicalSorter({name: recipe.parents for name, recipe in found.items()})
    return {name: found[name] for name in order.static_order()}


def read(directory: Path) -> Recipe:
    """One recipe."""
    name = directory.name
    if name == ROOT_FILE_SYSTEM:
        return Recipe(name=name, directory=directory, version_package="base-files")
    text = (directory / CONTAINERFILE).read_text()
    version_of = _VERSION_OF.search(text)
    also_known_as = _ALSO_KNOWN_AS.search(text)
    agents = _AGENTS.search(text)
    return Recipe(
        name=name,
        directory=directory,
        parents=tuple(dict.fromkeys(_USES_IMAGE.findall(text))),
        contexts=frozenset(_MOUNTS_CONTEXT.findall(text)),
        version_package=version_of[1] if version_of else "",
        aliases=tuple(also_known_as[1].split()) if also_known_as else (),
        agents=tuple(agents[1].split()) if agents else (),
    )


def with_parents(recipes: Mapping[str, Recipe], names: Iterable[str]) -> dict[str, Recipe]:
    """The named recipes and all their base images, in order."""
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in recipes:
            raise errors.HostError(
                f"there is no image {name}", hint=f"choose from: {', '.join(sorted(recipes))}"
            )
        if name not in wanted:
            wanted.add(name)
            pending.extend(recipes[name].parents)
    return {name: recipe for name, recipe in recipes.items() if name in wanted}
