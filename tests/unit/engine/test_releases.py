from pathlib import Path

import pytest

from cobaltcore.api.blocks import Image
from cobaltcore.engine import releases

PINS = Path(__file__).resolve().parents[3] / "releases"


@pytest.mark.parametrize("tag", ["28.0.0", "28.0.0-p2", "stable-2025.2"])
def test_tag_belongs_to_the_release(tag: str) -> None:
    image = Image(repository="ghcr.io/c5c3/keystone", tag=tag)
    assert releases.release_of("keystone", image) == "2025.2"


@pytest.mark.parametrize(
    "image",
    [
        Image(repository="ghcr.io/c5c3/keystone", tag="28.0.1"),
        Image(repository="ghcr.io/c5c3/keystone", tag="a1b2c3d"),
        Image(repository="ghcr.io/c5c3/keystone", digest="sha256:" + "0" * 64),
    ],
)
def test_other_images_belong_to_no_release(image: Image) -> None:
    assert releases.release_of("keystone", image) is None


def test_the_product_knows_every_release_that_has_pins() -> None:
    assert set(releases.versions()) == {path.parent.name for path in PINS.glob("*/release.env")}


def test_components_are_tagged_by_version_and_debian_packages_by_release() -> None:
    assert releases.image_tag("barbican", "2025.2") == "21.0.0"
    assert releases.image_tag("ovn", "2025.2") == "stable-2025.2"


def test_unknown_release_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(releases.UnknownRelease, match=r"knows 2025\.2, not 2024\.1"):
        releases.image_tag("keystone", "2024.1")
