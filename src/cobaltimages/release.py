"""The pins of an OpenStack release: the files under `releases/<release>` and `overrides`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from cobaltimages import errors, sources

T = TypeVar("T")

SHARED = "openstack-libs"

# Names on the package index where they differ from the component's.
_INDEX_NAMES = {"placement": "openstack-placement"}
_VERSION = re.compile(r"\d+(\.\d+)+([ab]|rc)?\d*")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)===?([^\s;\\]+)", re.MULTILINE)


class Extra(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an image needs beyond what its component declares."""

    pip_extras: tuple[str, ...] = ()
    pip_packages: tuple[str, ...] = ()
    apt_packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Deviations from the pins: `replaced` name → version, `freed` names without a date limit."""

    replaced: Mapping[str, str]
    freed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The pins of one release."""

    name: str
    exclude_newer: str
    refs: Mapping[str, str]
    extras: Mapping[str, Extra]
    overrides: Overrides
    directory: Path

    def additions(self, image: str) -> Extra:
        """What an image needs beyond what its component declares."""
        return self.extras.get(image, Extra())

    def requirement(self, component: str) -> str:
        """A component as a requirement, with its extras and its version."""
        extras = ",".join(self.additions(component).pip_extras)
        package = index_name(component) + (f"[{extras}]" if extras else "")
        return f"{package}=={self.refs[component]}"

    def requirements(self, image: str) -> Path:
        """The locked packages of an image's own layer."""
        return self.directory / "requirements" / f"{image}.txt"

    def pins(self, image: str) -> dict[str, str]:
        """Name → version of the packages of an image's own layer; empty if it has none."""
        path = self.requirements(image)
        return read_pins(path.read_text()) if path.exists() else {}


def read(tree: sources.Sources, name: str) -> Release:
    """Read a release's files."""
    directory = tree.release(name)
    if not (directory / "release.env").exists():
        raise errors.HostError(
            f'release "{name}" has no pins',
            hint=f"choose one of: {', '.join(tree.releases())}",
        )
    settings = dict(
        line.split("=", 1)
        for line in (directory / "release.env").read_text().split()
        if "=" in line
    )
    refs = _yaml(directory / "source-refs.yaml", dict[str, str])
    for component, ref in refs.items():
        _check_ref(directory / "source-refs.yaml", component, ref)
    return Release(
        name=name,
        exclude_newer=settings["EXCLUDE_NEWER"],
        refs=refs,
        extras=_yaml(directory / "extra-packages.yaml", dict[str, Extra]),
        overrides=read_overrides(tree.overrides(name)),
        directory=directory,
    )


def read_overrides(path: Path) -> Overrides:
    """Lines `name===version` replace a pin, `-name` lifts the date limit of one."""
    replaced, freed = {}, set()
    lines = path.read_text().splitlines() if path.exists() else []
    for line in (line.split("#")[0].strip() for line in lines):
        if line.startswith("-"):
            freed.add(canonical(line[1:].strip()))
        elif pin := _PIN.fullmatch(line):
            replaced[canonical(pin[1])] = pin[2]
        elif line:
            raise errors.HostError(
                f"{path}: cannot read {line!r}", hint="write name===version, or -name"
            )
    return Overrides(replaced=replaced, freed=frozenset(freed))


def read_pins(text: str) -> dict[str, str]:
    """Name → version of all pins in a requirements file."""
    return {canonical(name): version for name, version in _PIN.findall(text)}


def canonical(name: str) -> str:
    """A package name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def index_name(component: str) -> str:
    """The name of a component on the package index."""
    return _INDEX_NAMES.get(component, component)


def in_index_names(components: Iterable[str]) -> set[str]:
    """Component names as the index compares them."""
    return {canonical(index_name(component)) for component in components}


def _yaml(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.convert(yaml.safe_load(path.read_text()) or {}, kind)
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise errors.HostError(f"{path} cannot be used: {error}") from error


def _check_ref(path: Path, component: str, ref: str) -> None:
    if not _VERSION.fullmatch(ref):
        raise errors.HostError(
            f'{path}: "{ref}" of {component} is not a released version',
            hint="use a version that is on the package index",
        )
