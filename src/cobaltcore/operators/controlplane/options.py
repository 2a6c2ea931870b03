"""Options of all services of a ControlPlane, checked when it is written. Pure."""

from collections.abc import Iterator

import msgspec

from cobaltcore.api.blocks import Image
from cobaltcore.api.toggles import ImageOverride
from cobaltcore.engine import optioncheck, options, releases
from cobaltcore.operators.controlplane import available, sharing
from cobaltcore.runtime.meta import Object


def problems(plane: Object) -> Iterator[str]:
    """What a service that is on would not accept, at the field that it comes from."""
    spec = plane["spec"]
    release = spec.get("openStackRelease") or releases.newest()
    blocks = spec.get("services") or {}
    for service in available.all_services() if release in releases.versions() else ():
        block = blocks.get(service.name) or {}
        if block.get("enabled", True):
            image = _image(service.name, release, spec.get("global") or {}, block)
            known = optioncheck.known_options(service.name, image, pinned=release)
            yield from _of(service.name, known, spec.get("global") or {}, block)


def _of(service: str, known: options.Options, whole: Object, block: Object) -> Iterator[str]:
    own = block.get("extraConfig") or {}
    merged = sharing.merged_config(whole.get("extraConfig"), own) or {}
    for place, problem in options.problems(known, merged):
        section, _, option = place.partition(".")
        if section in own and (not option or option in own[section]):
            yield f"spec.services.{service}.extraConfig.{place}: {problem}"
        else:
            yield f"spec.global.extraConfig.{place}: {problem} ({service})"


def _image(service: str, release: str, whole: Object, block: Object) -> Image:
    """The image that the service will have."""
    image = optioncheck.release_image(service, release)
    if registry := whole.get("imageRegistry"):
        image = msgspec.structs.replace(image, repository=f"{registry}/{service}")
    override = msgspec.convert(block.get("image") or {}, ImageOverride)
    return sharing.overridden(image, override)
