"""What an image is made from: files, arguments, patches. Their digest decides about a rebuild."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cobaltcore.lab.images import buildah, recipe, release, sources

FORMAT = "4"
OWN = "cobaltcore"

_PROJECT_FILES = ("pyproject.toml", "uv.lock", "README.md", "LICENSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files by build context and path in it, and values that build steps get."""

    contexts: Mapping[str, Mapping[str, Path]]
    arguments: Mapping[str, str]
    labels: Mapping[str, str]
    version: str
    patches: tuple[str, ...]

    key: str
    """A digest of all of it, as it was when it was gathered: a build may see something newer."""


def gather(
    tree: sources.Sources, pinned: release.Release, made: recipe.Recipe, *, base: str = ""
) -> Inputs:
    """The inputs of an image; `base` replaces the root file system made here."""
    patches = own_patches(tree, pinned, made.name)
    offered = {
        "tools": _tools(tree.tools, made) if "tools" in made.contexts else {},
        "release": _release_files(pinned, made.name),
        "patches": {str(path.relative_to(tree.patches)): path for path in patches},
        "source": _project_files(tree.root) if "source" in made.contexts else {},
    }
    contexts = {"": _files(made.directory)}
    contexts |= {name: files for name, files in offered.items() if name in made.contexts}
    version = _version(tree, pinned, made.name)
    labels = {"org.opencontainers.image.title": made.name}
    if version:
        labels["org.opencontainers.image.version"] = version
    arguments = {buildah.EPOCH: str(epoch(pinned))}
    if packages := pinned.additions(made.name).apt_packages:
        arguments["APT_PACKAGES"] = " ".join(packages)
    if base and made.is_root_file_system:
        arguments["BASE"] = base
    return Inputs(
        contexts=contexts,
        arguments=arguments,
        labels=labels,
        key=_key(contexts, {**arguments, **labels}),
        version=version,
        patches=tuple(str(path.relative_to(tree.root)) for path in patches),
    )


def _key(contexts: Mapping[str, Mapping[str, Path]], values: Mapping[str, str]) -> str:
    state = hashlib.sha256(FORMAT.encode())
    for name, value in sorted(values.items()):
        state.update(f"\0{name}={value}".encode())
    for context, members in sorted(contexts.items()):
        for path, source in sorted(members.items()):
            content = source.read_bytes()
            mode = source.stat().st_mode & 0o111
            state.update(f"\0{context}/{path} {mode:o} {len(content)}\0".encode())
            state.update(content)
    return state.hexdigest()


def own_patches(tree: sources.Sources, pinned: release.Release, image: str) -> list[Path]:
    """The patches for packages of an image's own layer, in the order they are applied."""
    packages = set(pinned.pins(image))
    found = sorted(tree.patches.glob(f"*/{pinned.name}/*.patch"))
    return [path for path in found if release.in_index_names([path.parts[-3]]) & packages]


def epoch(pinned: release.Release) -> int:
    """The one time that all files of all images of a release carry."""
    return int(datetime.fromisoformat(pinned.exclude_newer).replace(tzinfo=UTC).timestamp())


def _tools(directory: Path, made: recipe.Recipe) -> dict[str, Path]:
    """The tools that a Containerfile names, and those that they name in turn."""
    tools = _files(directory)
    used: dict[str, Path] = {}
    pending = [made.directory / recipe.CONTAINERFILE]
    while pending:
        words = set(re.findall(r"[\w.-]+", pending.pop().read_text()))
        fresh = {name: path for name, path in tools.items() if name in words - used.keys()}
        used |= fresh
        pending += fresh.values()
    return used


def _version(tree: sources.Sources, pinned: release.Release, image: str) -> str:
    """The version that is known before a build; others come from the package that is installed."""
    if image == OWN:
        return str(_project(tree.root)["project"]["version"])
    if image == release.SHARED:
        return pinned.name
    return pinned.refs.get(image, "")


def _release_files(pinned: release.Release, image: str) -> dict[str, Path]:
    names = ["release.env", "upper-constraints.txt", f"requirements/{image}.txt"]
    return {name: pinned.directory / name for name in names if (pinned.directory / name).exists()}


def _project_files(root: Path) -> dict[str, Path]:
    """What a wheel of this project is made from."""
    found = {name: root / name for name in _PROJECT_FILES if (root / name).exists()}
    wheel = _project(root)["tool"]["hatch"]["build"]["targets"]["wheel"]
    for folder in (*wheel["packages"], *wheel.get("force-include", {})):
        members = _files(root / folder)
        found |= {f"{folder}/{path}": file for path, file in members.items()}
    return found


def _project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def _files(directory: Path) -> dict[str, Path]:
    found: Iterable[Path] = (path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): path
        for path in found
        if path.parent.name != "__pycache__"
    }
