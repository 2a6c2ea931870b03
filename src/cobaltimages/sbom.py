"""SBOMs in CycloneDX 1.5: packages of an image, and its patches and overrides. Pure."""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from cobaltimages import inventory

MEDIA_TYPE = "application/vnd.cyclonedx+json"
PREDICATE_TYPE = "https://cyclonedx.org/bom"
OVERRIDE_PROPERTY = "c5c3:constraint-override"

_DISTRIBUTION = "debian-12"
_BUG = re.compile(r"^(?:Closes|Partial|Related)-Bug:\s*#?(\d+)$", re.MULTILINE)
_SUBJECT = re.compile(r"^Subject: (?:\[PATCH[^\]]*\] )?(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch of a package: its path in the source tree and its text."""

    package: str
    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The image of an SBOM."""

    name: str
    version: str
    repository: str
    digest: str
    created: str


def document(
    subject: Subject,
    packages: Iterable[inventory.Package],
    *,
    patches: Sequence[Patch] = (),
    overrides: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The SBOM of an image; the same image always has the same SBOM."""
    components = [_component(package, patches, overrides or {}) for package in packages]
    image = _image(subject)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, subject.digest)}",
        "version": 1,
        "metadata": {
            "timestamp": subject.created,
            "tools": {"components": [{"type": "application", "name": "cobalt images"}]},
            "component": image,
        },
        "components": components,
        "dependencies": [
            {"ref": image["bom-ref"], "dependsOn": [part["bom-ref"] for part in components]}
        ],
    }


def encode(document: Mapping[str, Any]) -> bytes:
    """The SBOM as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1)


def package_url(package: inventory.Package) -> str:
    """The purl of a package."""
    version = quote(package.version, safe="")
    if package.kind == "pypi":
        return f"pkg:pypi/{package.name}@{version}"
    name = quote(package.name, safe="")
    where = f"arch={package.architecture}&distro={_DISTRIBUTION}"
    return f"pkg:deb/debian/{name}@{version}?{where}"


def _image(subject: Subject) -> dict[str, Any]:
    algorithm, content = subject.digest.split(":")
    repository = quote(subject.repository, safe="/")
    url = f"pkg:oci/{subject.name}@{quote(subject.digest, safe='')}?repository_url={repository}"
    return {
        "type": "container",
        "bom-ref": url,
        "name": subject.repository,
        "version": subject.version,
        "purl": url,
        "hashes": [{"alg": f"SHA-{algorithm.removeprefix('sha')}", "content": content}],
    }


def _component(
    package: inventory.Package, patches: Sequence[Patch], overrides: Mapping[str, str]
) -> dict[str, Any]:
    url = package_url(package)
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "purl": url,
    }
    if package.licence:
        found["licenses"] = [{"license": {"name": package.licence}}]
    properties = {}
    if package.kind == "deb" and package.source != package.name:
        properties["c5c3:debian-source"] = package.source
    if package.kind == "pypi" and package.name in overrides:
        properties[OVERRIDE_PROPERTY] = overrides[package.name]
    if properties:
        found["properties"] = [{"name": name, "value": v} for name, v in properties.items()]
    if own := [p for p in patches if package.kind == "pypi" and p.package == package.name]:
        found["pedigree"] = {"patches": [_pedigree(patch) for patch in own]}
    return found


def _pedigree(patch: Patch) -> dict[str, Any]:
    subject = _SUBJECT.search(patch.text)
    issues = [
        {"type": "defect", "id": f"LP#{number}", "name": subject[1] if subject else patch.path}
        for number in _BUG.findall(patch.text)
    ]
    found: dict[str, Any] = {
        "type": "unofficial",
        "diff": {
            "text": {"contentType": "text/x-diff", "content": patch.text},
            "url": patch.path,
        },
    }
    return {**found, "resolves": issues} if issues else found
