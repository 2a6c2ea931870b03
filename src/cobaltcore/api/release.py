"""OpenStack releases: their order and which one may follow which. Pure: no I/O.

Two releases come out each year, `YYYY.1` and `YYYY.2`. One may move to the next; a `.1` may also
move to the `.1` of the following year, which upstream supports as a skip (SLURP).
"""

import re
from dataclasses import dataclass
from importlib import resources
from typing import Annotated

from cobaltcore.api.base import Meta


def known() -> list[str]:
    """Releases that there are images of: the files of the package's release data."""
    files = (resources.files("cobaltcore") / "releases").iterdir()
    return sorted(each.name.removesuffix(".yaml") for each in files)


ReleaseName = Annotated[str, Meta(max_length=6, pattern=r"^20[0-9]{2}\.[12]$")]

KnownRelease = Annotated[str, Meta(max_length=6, extra={"enum": known()})]

DEFAULT = "2025.2"

# `Release.may_follow` for the schema, in arithmetic that the API server can bound: read as
# numbers, the next release is 0.1 or 0.9 away, and the second next 1.0.
_FOLLOWS = (
    "double({new}) - double({old}) > -0.05 && (double({new}) - double({old}) < 0.95"
    " || (double({new}) - double({old}) < 1.05 && {old}.endsWith('.1')))"
)


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """One OpenStack release; releases sort by age."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year}.{self.number}"

    @property
    def next(self) -> "Release":
        """The release that comes out half a year later."""
        return Release(self.year, 2) if self.number == 1 else Release(self.year + 1, 1)

    @property
    def is_slurp(self) -> bool:
        """Whether upgrades from this release may skip the one after it."""
        return self.number == 1

    def may_follow(self, installed: "Release") -> bool:
        """Whether an installation of `installed` may be moved to this release."""
        skipped = Release(installed.year + 1, 1)
        return self in (installed, installed.next) or (installed.is_slurp and self == skipped)


def parse(text: str) -> Release:
    """Read a release name such as 2025.2."""
    if not re.fullmatch(r"20[0-9]{2}\.[12]", text):
        raise ValueError(f"{text!r} is not an OpenStack release: write YYYY.1 or YYYY.2")
    year, number = text.split(".")
    return Release(int(year), int(number))


def cel_may_follow(*, new: str, old: str) -> str:
    """CEL expression: whether release `new` may follow release `old`."""
    return _FOLLOWS.format(new=new, old=old)
