"""CRDs and stored objects of the last landing, for tests of version skew.

`python -m tests.support.landing` (make landing) replaces them with those of this tree. It is run when a
version has landed, never together with a change of a type: the tests are about the difference.
"""

import gzip
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cobaltcore.api import crd
from tests.support import structural

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "landing"
_CRDS = FOLDER / "crds.json.gz"
_OBJECTS = FOLDER / "objects.yaml"


def crds() -> list[dict[str, Any]]:
    """The CRDs of the last landing."""
    found: list[dict[str, Any]] = msgspec.json.decode(gzip.decompress(_CRDS.read_bytes()))
    return found


def objects() -> list[dict[str, Any]]:
    """Objects of each kind as that landing has stored them, with defaults and statuses."""
    return list(yaml.safe_load_all(_OBJECTS.read_text()))


def write() -> None:
    """Keep what this tree has."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _CRDS.write_bytes(gzip.compress(msgspec.json.encode(crd.manifests()), mtime=0))
    schemas = structural.schemas()
    reported = {each["kind"]: each["status"] for each in structural.examples_with_status()}
    stored = []
    for each in structural.examples():
        schema = schemas.get((each["apiVersion"], each["kind"]))
        if schema is not None:
            status = {"status": reported[each["kind"]]} if each["kind"] in reported else {}
            stored.append(structural.with_defaults(each, schema) | status)
    _OBJECTS.write_text(yaml.safe_dump_all(stored, sort_keys=False, width=120))


if __name__ == "__main__":
    write()
