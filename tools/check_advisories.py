"""Compare the pins of images with published vulnerabilities: `releases/advisories.yaml`.

With --online the package index is asked too: PyPI's own answers to `/pypi/NAME/VERSION/json` list
vulnerabilities. An index that has no such pages, or does not respond, is reported and no failure.
"""

import json
import re
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import yaml

from cobaltimages import release

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ROOT / "releases"
INDEX = "https://pypi.org/pypi"
TIMEOUT_SECONDS = 20
ATTEMPTS_AT_ONCE = 8


class Advisory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A vulnerability of one series of a package."""

    id: str
    package: str
    introduced: str
    fixed: str
    accepted: str = ""

    def affects(self, version: str) -> bool:
        """Whether a version has it."""
        return numbers(self.introduced) <= numbers(version) < numbers(self.fixed)


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was known at a date."""

    as_of: str
    advisories: list[Advisory]


def main(arguments: list[str]) -> int:
    """Complain about affected pins; 1 if there are any."""
    text = (RELEASES / "advisories.yaml").read_text()
    known = msgspec.convert(yaml.load(text, yaml.BaseLoader), Known)
    found: list[str] = []
    for path in sorted(RELEASES.glob("*/upper-constraints.txt")):
        pins = release.read_pins(path.read_text())
        found += [f"{path.parent.name}: {each}" for each in complaints(pins, known.advisories)]
        if "--online" in arguments:
            found += [f"{path.parent.name}: {each}" for each in unknown(pins, known.advisories)]
    sys.stdout.writelines(f"{each}\n" for each in found)
    return 1 if found else 0


def complaints(pins: Mapping[str, str], advisories: Iterable[Advisory]) -> Iterator[str]:
    """Pins that are affected, and reasons that are not needed any more."""
    for each in advisories:
        version = pins.get(release.canonical(each.package))
        is_affected = version is not None and each.affects(version)
        if is_affected and not each.accepted:
            yield f"{each.package} {version} has {each.id}, fixed in {each.fixed}: move the pin"
        elif each.accepted and not is_affected:
            yield f"{each.package} {version} does not have {each.id}: remove `accepted` from it"


def unknown(pins: Mapping[str, str], advisories: Iterable[Advisory]) -> Iterator[str]:
    """Vulnerabilities that the index lists and `advisories.yaml` does not."""
    listed = {(release.canonical(each.package), each.id) for each in advisories}
    with ThreadPoolExecutor(ATTEMPTS_AT_ONCE) as pool:
        answers = list(pool.map(published, pins, pins.values()))
    silent = sum(answer is None for answer in answers)
    if silent:
        sys.stderr.write(f"the index has no answer for {silent}/{len(pins)} packages\n")
    for (name, version), answer in zip(pins.items(), answers, strict=True):
        for id_, others, fixed in answer or ():
            if not any((name, each) in listed for each in (id_, *others)):
                newer = f", fixed in {', '.join(fixed)}" if fixed else ""
                yield f"{name} {version} has {id_}{newer}: add it to advisories.yaml"


def published(name: str, version: str) -> list[tuple[str, list[str], list[str]]] | None:
    """IDs, other names and fixed versions of what the index knows; None if it does not answer."""
    try:
        with urllib.request.urlopen(  # noqa: S310 the address is ours
            f"{INDEX}/{name}/{version}/json", timeout=TIMEOUT_SECONDS
        ) as answer:
            found = json.load(answer).get("vulnerabilities") or []
    except (OSError, ValueError):
        return None
    return [
        (each["id"], each.get("aliases") or [], each.get("fixed_in") or [])
        for each in found
        if not each.get("withdrawn")
    ]


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that compare; the pins have no pre-releases."""
    found = [int(each) for each in re.findall(r"\d+", version)]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
