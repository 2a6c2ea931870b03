"""Find words that the field does not use, in identifiers, prose and file names.

An engineer searches for the terms of Kubernetes, OpenStack and Linux; each entry names the term to
use instead. Words are matched in any case, and underscores separate words.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "docs", "charts", "deploy", "examples", "images", "releases", "tools")
FILES = ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")
# The list itself.
EXCEPT = {Path("tools/check_words.py")}

# Regular expressions; a space also matches underscores and hyphens.
INSTEAD = {
    "sightings?": "cached object",
    "wish(es|ed)?": "spec, desired, options",
    "told(?! from)": "reported, status, conditions",
    "tells": "reports, describes",
    "says": "reports, describes, names, prints",
    "given(?: =| is (?:not )?None|\\.\\w+|\\[|:)": "settings, spec, options, value, external",
    "goes on": "continues",
    "(?:cluster|server|broker|volume|object|key)s? goes": "is deleted, stops",
    "(?:is|being|been|was|were) made(?! (?:of|from))": "created, generated, built",
    "made (?:at|up|again)|hand made": "created, generated, recreated",
    "notyet": "DependencyPending, NotReady",
    "begins": "starts",
    "means =|class means|carried =|class (?:carried|scene)": "Tools, RenderedConfig, Report, Context",
    "notices": "events, enqueues",
    "troubles?": "pod failure, failure reason",
    "the switch(?! over)": "ovs-vswitchd, Open vSwitch",
    "stands for": "matches, replaces, is",
    "stands in": "prevents",
    "stands still": "stops",
    "mend(s|ed|ing)?": "fix, recover",
    "anew": "again, recreate",
    "beside": "next to, sidecar, in parallel with",
    "strangers?": "foreign, other",
    "its own word": "console output",
    "last word": "termination message",
    "stands after": "is up",
    "everything stands": "everything is up",
    "stands? on": "is based on, base image",
    "control groups? of version": "cgroup v1, cgroup v2",
    "played": "simulated",
    "patience": "timeout, back-off",
    "patient(ly)?": "low priority",
    "leash": "parent-death signal",
    "seats?": "NodeSpec",
    "workshops?": "build directory",
    "surroundings": "environment",
    "name servers?": "DNS server, CoreDNS",
    "bills? of materials?": "SBOM",
    "stand ins?": "lab provider",
    "its old self": "stale Raft member",
    "kith|kin": "similar",
    "cables?": "veth pair",
    "goodbyes?": "close",
    "farewells?": "close",
}
_PATTERNS = [
    (re.compile(rf"(?<![a-z])(?:{word.replace(' ', '[ _-]+')})(?![a-z])", re.IGNORECASE), instead)
    for word, instead in INSTEAD.items()
]


def complaints(root: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Words to replace, one line each."""
    for path in paths:
        for found, instead in _find(str(path)):
            yield f'{path}: "{found}" in the file name; say: {instead}'
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for found, instead in _find(line):
                yield f'{path}:{number}: "{found}"; say: {instead}'


def files(root: Path) -> list[Path]:
    """Files of the project that people read."""
    found = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    named = [path.relative_to(root) for path in (*found, *(root / name for name in FILES))]
    return sorted({path for path in named if path not in EXCEPT and not _is_binary(root / path)})


def _is_binary(path: Path) -> bool:
    return b"\0" in path.read_bytes()[:8192]


def _find(text: str) -> Iterator[tuple[str, str]]:
    for pattern, instead in _PATTERNS:
        for match in pattern.finditer(text):
            yield match[0], instead


def main() -> int:
    """Print complaints; 1 if there are any."""
    found = sorted(complaints(ROOT, files(ROOT)))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
