"""Find words that the field does not use, in identifiers, prose and file names.

An engineer searches for the terms of Kubernetes, OpenStack and Linux; each entry names the term to
use instead. Words are matched in any case, and underscores separate words.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "docs", "charts", "deploy", "examples")
SUFFIXES = {".py", ".md", ".yaml"}

# Regular expressions; a space also matches underscores and hyphens.
INSTEAD = {
    "sightings?": "cached object",
    "wish(es|ed)?": "spec, desired, options",
    "told": "reported, status, conditions",
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


def _find(text: str) -> Iterator[tuple[str, str]]:
    for pattern, instead in _PATTERNS:
        for match in pattern.finditer(text):
            yield match[0], instead


def main() -> int:
    """Print complaints; 1 if there are any."""
    files = [p.relative_to(ROOT) for f in FOLDERS for p in (ROOT / f).rglob("*") if p.is_file()]
    found = sorted(complaints(ROOT, (path for path in files if path.suffix in SUFFIXES)))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
