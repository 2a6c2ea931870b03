"""What is installed in an image, read from its layers: Debian's package list, Python's metadata."""

import tarfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Literal

import msgspec

from cobaltimages import release

DPKG_STATUS = "var/lib/dpkg/status"
_METADATA = ".dist-info/METADATA"
_NO_LICENCE = {"UNKNOWN", ""}

Kind = Literal["deb", "pypi"]


class Package(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, order=True):
    """One installed package."""

    kind: Kind
    name: str
    version: str
    source: str = ""
    architecture: str = ""
    licence: str = ""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """Packages of a layer: all Debian packages if it changes their list, else None; its Python packages."""

    debian: list[Package] | None
    python: list[Package]


def read_layer(tar: Path) -> Layer:
    """Read an uncompressed layer."""
    debian: list[Package] | None = None
    python: list[Package] = []
    with tarfile.open(tar, "r:") as members:
        for member in members:
            name = member.name.removeprefix("./")
            if name == DPKG_STATUS:
                debian = list(debian_packages(_text(members, member)))
            elif name.endswith(_METADATA) and member.isfile() and "/_vendor/" not in name:
                python.append(python_package(_text(members, member)))
    return Layer(debian=debian, python=python)


def merge(layers: Iterable[Layer]) -> list[Package]:
    """The packages of an image, from its lowest layer to its highest."""
    debian: list[Package] = []
    python: dict[str, Package] = {}
    for layer in layers:
        debian = debian if layer.debian is None else layer.debian
        python |= {package.name: package for package in layer.python}
    return sorted([*debian, *python.values()])


def debian_packages(status: str) -> Iterator[Package]:
    """Installed packages in dpkg's status file."""
    for stanza in status.split("\n\n"):
        fields = HeaderParser().parsestr(stanza)
        if fields["Status"] == "install ok installed":
            yield Package(
                kind="deb",
                name=fields["Package"],
                version=fields["Version"],
                source=(fields["Source"] or fields["Package"]).split()[0],
                architecture=fields["Architecture"],
            )


def python_package(metadata: str) -> Package:
    """A package from its metadata."""
    fields = HeaderParser().parsestr(metadata)
    stated = fields["License-Expression"] or fields["License"] or ""
    first_line = stated.strip().splitlines()[0] if stated.strip() else ""
    return Package(
        kind="pypi",
        name=release.canonical(fields["Name"]),
        version=fields["Version"],
        licence="" if first_line in _NO_LICENCE else first_line,
    )


def upstream_version(version: str) -> str:
    """A Debian version without what Debian adds to it."""
    upstream = version.split(":", 1)[-1].rsplit("-", 1)[0]
    return upstream.split("+")[0].split("~")[0]


def _text(members: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    content = members.extractfile(member)
    return content.read().decode(errors="replace") if content else ""
