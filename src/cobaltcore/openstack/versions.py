"""Microversions: which ones an API serves, and which one is used. Pure."""

from dataclasses import dataclass

import msgspec

from cobaltcore.openstack.errors import Malformed, VersionUnsupported


@dataclass(frozen=True, slots=True)
class Range:
    """Microversions from the oldest to the newest, such as 2.53 to 2.95."""

    oldest: str
    newest: str

    def __str__(self) -> str:
        return f"{self.oldest} to {self.newest}"


class _Version(msgspec.Struct):
    min_version: str = ""
    version: str = ""
    max_version: str = ""


class _Document(msgspec.Struct):
    """Nova describes one version, Placement and Cinder list them."""

    version: _Version | None = None
    versions: tuple[_Version, ...] = ()


def served(what: str, body: bytes) -> Range:
    """The microversions in a discovery document; `what` is the API, for the message."""
    try:
        found = msgspec.json.decode(body, type=_Document)
    except msgspec.MsgspecError as error:
        raise Malformed(f"{what}: no document of versions", "correct its endpoint") from error
    for each in (*((found.version,) if found.version else ()), *found.versions):
        newest = each.max_version or each.version
        if newest and each.min_version:
            return Range(each.min_version, newest)
    raise VersionUnsupported(f"{what} has no microversions")


def chosen(what: str, wanted: Range, offered: Range) -> str:
    """The newest microversion that both sides speak."""
    newest = min(_number(wanted.newest), _number(offered.newest))
    if newest < max(_number(wanted.oldest), _number(offered.oldest)):
        raise VersionUnsupported(
            f"{what} serves microversions {offered}, and {wanted} are needed",
            "upgrade the service, or use a release of the operators that supports it",
        )
    return ".".join(map(str, newest))


def _number(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    try:
        return int(major), int(minor or 0)
    except ValueError as error:
        raise Malformed(f"{text!r} is no microversion") from error
