"""Which image of a component belongs to which OpenStack release."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

import yaml

from cobaltcore.api.blocks import Image

REGISTRY = "ghcr.io/c5c3"


class UnknownRelease(Exception):
    """The operator has no images for a release."""


@cache
def versions() -> Mapping[str, Mapping[str, str]]:
    """What images are built from: release to component to version."""
    files = (resources.files("cobaltcore") / "releases").iterdir()
    return {each.name.removesuffix(".yaml"): yaml.safe_load(each.read_text()) for each in files}


def newest() -> str:
    """The newest release that there are images of."""
    return max(versions())


def release_of(component: str, image: Image) -> str | None:
    """The release that an image belongs to by its tag; None if the tag does not say."""
    for release, components in versions().items():
        if image.tag == _moving(release):
            return release
        version = components.get(component)
        if version and re.fullmatch(rf"{re.escape(version)}(-p[0-9]+)?", image.tag or ""):
            return release
    return None


def image_tag(component: str, release: str) -> str:
    """The tag of a component's image in a release."""
    known = versions().get(release)
    if known is None:
        names = ", ".join(sorted(versions()))
        raise UnknownRelease(f"openStackRelease: this operator knows {names}, not {release}")
    return known.get(component, _moving(release))


def _moving(release: str) -> str:
    """The tag of images of Debian packages: their versions move with its point releases."""
    return f"stable-{release}"
