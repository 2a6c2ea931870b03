"""Inputs of an image: files, arguments, patches. An image is rebuilt when their digest changes."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cobaltimages import agents, buildah, recipe, release, sources

FORMAT = "4"
PRODUCT = "cobaltcore"

_PROJECT = "pyproject.toml"
_ROOT_FILES = (_PROJECT, "uv.lock", "README.md", "LICENSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files by build context and path in it, and values that build steps get."""

    contexts: Mapping[str, Mapping[str, Path]]
    arguments: Mapping[str, str]
    labels: Mapping[str, str]
    version: str
    patches: tuple[str, ...]

    agents: tuple[agents.File, ...]
    """The files of the last layer."""
    key: str
    """A digest of all of it, as it was when it was gathered: a build may see something newer."""
    key_below_agents: str
    """The same without the agents."""


def gather(
    tree: sources.Sources, pinned: release.Release, target: recipe.Recipe, *, base: str = ""
) -> Inputs:
    """The inputs of an image; `base` is an image to use instead of the own root file system."""
    patches = own_patches(tree, pinned, target.name)
    offered = {
        "tools": _tools(tree.tools, target) if "tools" in target.contexts else {},
        "release": _release_files(pinned, target.name),
        "patches": {str(path.relative_to(tree.patches)): path for path in patches},
        "product": _product_files(tree.root) if "product" in target.contexts else {},
        "workspace": _workspace_files(tree.root) if "workspace" in target.contexts else {},
    }
    contexts = {"": _files(target.directory)}
    contexts |= {name: files for name, files in offered.items() if name in target.contexts}
    version = _version(tree, pinned, target.name)
    labels = {"org.opencontainers.image.title": target.name}
    if version:
        labels["org.opencontainers.image.version"] = version
    arguments = {buildah.EPOCH: str(epoch(pinned))}
    if packages := pinned.additions(target.name).apt_packages:
        arguments["APT_PACKAGES"] = " ".join(packages)
    if base and target.is_root_file_system:
        arguments["BASE"] = base
    files = agents.files(
        tree, target.agents, version=_project_version(tree.root) if target.agents else ""
    )
    key = _key(contexts, {**arguments, **labels})
    return Inputs(
        contexts=contexts,
        arguments=arguments,
        labels=labels,
        agents=files,
        key=_with_agents(key, files),
        key_below_agents=key,
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


def _with_agents(key: str, files: Sequence[agents.File]) -> str:
    state = hashlib.sha256(key.encode())
    for each in files:
        state.update(f"\0{each.path} {each.mode:o} {len(each.content)}\0".encode())
        state.update(each.content)
    return state.hexdigest() if files else key


def own_patches(tree: sources.Sources, pinned: release.Release, image: str) -> list[Path]:
    """The patches for packages of an image's own layer, in the order they are applied."""
    packages = set(pinned.pins(image))
    found = sorted(tree.patches.glob(f"*/{pinned.name}/*.patch"))
    return [path for path in found if release.in_index_names([path.parts[-3]]) & packages]


def epoch(pinned: release.Release) -> int:
    """The one time that all files of all images of a release carry."""
    return int(datetime.fromisoformat(pinned.exclude_newer).replace(tzinfo=UTC).timestamp())


def _tools(directory: Path, target: recipe.Recipe) -> dict[str, Path]:
    """The tools that a Containerfile names, and those that they name in turn."""
    tools = _files(directory)
    used: dict[str, Path] = {}
    pending = [target.directory / recipe.CONTAINERFILE]
    while pending:
        words = set(re.findall(r"[\w.-]+", pending.pop().read_text()))
        fresh = {name: path for name, path in tools.items() if name in words - used.keys()}
        used |= fresh
        pending += fresh.values()
    return used


def _version(tree: sources.Sources, pinned: release.Release, image: str) -> str:
    """The version that is known before a build; others are read from the installed package."""
    project = tree.root if image == PRODUCT else tree.root / "src" / image
    if (project / _PROJECT).exists():
        return _project_version(project)
    if image == release.SHARED:
        return pinned.name
    return pinned.refs.get(image, "")


def _release_files(pinned: release.Release, image: str) -> dict[str, Path]:
    names = ["release.env", "upper-constraints.txt", f"requirements/{image}.txt"]
    return {name: pinned.directory / name for name in names if (pinned.directory / name).exists()}


def _product_files(root: Path) -> dict[str, Path]:
    """Source of the product's wheel, without the other members of the workspace."""
    found = {name: root / name for name in _ROOT_FILES if (root / name).exists()}
    for folder in _wheel(root)["packages"]:
        found |= _below(root, root / folder)
    return found


def _workspace_files(root: Path) -> dict[str, Path]:
    """Sources of the wheels of all projects."""
    found = _product_files(root)
    for member in _project(root)["tool"]["uv"]["workspace"]["members"]:
        found |= _below(root, root / member)
        for included in _wheel(root / member).get("force-include", {}):
            found |= _below(root, (root / member / included).resolve())
    return found


def _wheel(project: Path) -> dict[str, Any]:
    wheel: dict[str, Any] = _project(project)["tool"]["hatch"]["build"]["targets"]["wheel"]
    return wheel


def _project_version(directory: Path) -> str:
    return str(_project(directory)["project"]["version"])


def _project(directory: Path) -> dict[str, Any]:
    return tomllib.loads((directory / _PROJECT).read_text())


def _below(root: Path, directory: Path) -> dict[str, Path]:
    return {str(path.relative_to(root)): path for path in _files(directory).values()}


def _files(directory: Path) -> dict[str, Path]:
    found: Iterable[Path] = (path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): path
        for path in found
        if path.parent.name != "__pycache__"
    }
