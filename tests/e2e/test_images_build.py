"""All images: built, checked, signed, with SBOM, and reproducible."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cobaltimages import aptsettings, recipe, store
from tests.support import built_images

UNPACKED_LIMIT_BYTES = 1_500_000_000
# What only a build needs, and what installers fetch; empty files and directories of theirs may stay.
MOUNTED = re.compile(r"^run/(host|tools|release|patches|source|out|build)\b")
FETCHED = re.compile(r"^(var/lib/apt/lists|var/cache/apt|root/\.cache)/")


@pytest.fixture(scope="module")
def layers(kept: store.Store) -> set[str]:
    return {la for record in kept.records(built_images.RELEASE).values() for la in record.layers}


def test_every_image_is_current_signed_and_has_an_sbom(kept: store.Store) -> None:
    found = built_images.listing(kept)

    names = {image["repository"].rsplit("/", 1)[1] for image in found["images"]}
    assert names == set(recipe.read_all(built_images.TREE))
    for image in found["images"]:
        assert image["state"] == "current", image
        assert image["isSigned"], image
        assert image["version"] == image["tags"][0], image
        assert json.loads(Path(image["sbom"]).read_text())["components"], image


def test_a_second_build_does_nothing(kept: store.Store) -> None:
    before = (kept.directory / "index.json").read_bytes()

    done = subprocess.run(
        [
            *(built_images.TREE.root / ".venv/bin/cobalt", "images", "build", "--json"),
            *("--store", kept.directory),
        ],
        capture_output=True,
        check=True,
    )

    result = json.loads(done.stdout.splitlines()[-1])
    assert result["built"] == {}
    assert set(result["reused"]) == set(recipe.read_all(built_images.TREE))
    assert (kept.directory / "index.json").read_bytes() == before


def test_service_images_share_their_layers(kept: store.Store) -> None:
    records = kept.records(built_images.RELEASE)
    unpacked = {la: n for name in built_images.SERVICES for la, n in records[name].layers.items()}

    assert sum(unpacked.values()) < UNPACKED_LIMIT_BYTES


def test_the_reply_patch_is_in_tags_and_sboms_of_all_images_with_the_library(
    kept: store.Store,
) -> None:
    for image in built_images.listing(kept)["images"]:
        sbom = json.loads(Path(image["sbom"]).read_text())
        library = [part for part in sbom["components"] if part["name"] == "oslo-messaging"]
        if not library:
            continue
        (patch,) = _patches(library[0])
        assert "delay = 0.001" in patch["diff"]["text"]["content"]
        patches = [p for part in sbom["components"] for p in _patches(part)]
        assert f"{image['version']}-p{len(patches)}" in image["tags"], image["tags"]


def _patches(component: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = component.get("pedigree", {}).get("patches", [])
    return found


def test_no_image_contains_files_of_the_build_machine(kept: store.Store, layers: set[str]) -> None:
    mirrors = [source.uri.encode() for source in aptsettings.find_sources()]
    resolver = Path("/etc/resolv.conf").read_bytes()
    for layer in layers:
        for member, content in built_images.members(kept, layer):
            name = member.name.removeprefix("./")
            assert not MOUNTED.match(name), name
            assert not (FETCHED.match(name) and content), name
            if name in {"etc/resolv.conf", "etc/hostname", "etc/hosts", "etc/machine-id"}:
                assert not content.strip(), name
            if name.startswith("etc/"):
                assert not [uri for uri in mirrors if uri in content], name
                assert resolver not in content or not resolver.strip(), name


def test_all_files_of_a_layer_have_the_same_mtime(kept: store.Store, layers: set[str]) -> None:
    epoch = 1761609600
    for layer in layers:
        for member, _ in built_images.members(kept, layer):
            assert member.mtime <= epoch, member.name


@pytest.fixture(scope="module")
def built_again(tmp_path_factory: pytest.TempPathFactory) -> store.Store:
    """Keystone and its base images, built without cache."""
    place = tmp_path_factory.mktemp("again")
    built_images.build("--quiet", "--store", str(place / "store"), "keystone", "memcached")
    return store.Store(place / "store")


def test_builds_are_reproducible(kept: store.Store, built_again: store.Store) -> None:
    first = kept.records(built_images.RELEASE)
    again = built_again.records(built_images.RELEASE)
    if again["debian"].archive != first["debian"].archive:
        built_images.build("--quiet", "--refresh", "--store", str(kept.directory))
        first = kept.records(built_images.RELEASE)

    for name, record in again.items():
        assert list(record.layers) == list(first[name].layers), name
        assert record.digest == first[name].digest, name
