"""Write what is generated from API types and operators: CRDs and reference pages.

tools/generate.py            write deploy/crds and docs/reference
tools/generate.py --check    fail if the tree differs from what would be written
"""

import argparse
import functools
import sys
from collections.abc import Mapping
from pathlib import Path

from cobaltcore.api import base, crd, reference
from cobaltcore.deploy import accounts

ROOT = Path(__file__).resolve().parent.parent
CRDS = Path("deploy/crds")
REFERENCE = Path("docs/reference")


@functools.cache
def outputs() -> Mapping[Path, str]:
    """Every generated file, by its path in the tree."""
    definitions = base.definitions()
    files = {
        REFERENCE / "README.md": reference.index(definitions),
        REFERENCE / "accounts.md": accounts.page(),
    }
    for definition in definitions:
        kind = definition.kind
        files[CRDS / f"{kind.plural}.{kind.group}.yaml"] = crd.to_yaml([crd.manifest(definition)])
        files[REFERENCE / reference.file_name(definition)] = reference.page(definition)
    return files


def differences(files: Mapping[Path, str], *, root: Path) -> list[str]:
    """Generated files that are missing, out of date or obsolete; one line each."""
    found = []
    for path, text in files.items():
        if not (root / path).exists():
            found.append(f"{path} is missing")
        elif (root / path).read_text() != text:
            found.append(f"{path} is out of date")
    found += [f"{path} is not generated from anything" for path in strays(files, root=root)]
    return sorted(found)


def strays(files: Mapping[Path, str], *, root: Path) -> list[Path]:
    """Files in the generated folders that nothing generates."""
    there = [*(root / CRDS).glob("*.yaml"), *(root / REFERENCE).glob("*.md")]
    return [path.relative_to(root) for path in there if path.relative_to(root) not in files]


def write(files: Mapping[Path, str], *, root: Path) -> None:
    """Update the files; unchanged ones keep their time."""
    for path in strays(files, root=root):
        (root / path).unlink()
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)


def main(arguments: list[str]) -> int:
    """Write or check; 1 if a check found differences."""
    parser = argparse.ArgumentParser(description="Write CRDs and reference pages.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on differences")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to write to")
    options = parser.parse_args(arguments)
    files = outputs()
    if not options.check:
        write(files, root=options.root)
        return 0
    found = differences(files, root=options.root)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("\nhint: run `make crds docs` and commit the result", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
