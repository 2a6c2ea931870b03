"""Options of users are checked when an object is written, as far as its image is known. Pure.

Only images of this product are: another one may have plugins with options of their own. A problem
that the stored object has already is left to the Job that tries the configuration, so that such an
object can still be changed and deleted.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from cobaltcore.api.blocks import Image
from cobaltcore.engine import definitions, options, releases
from cobaltcore.runtime.admission import (
    ALLOWED,
    AdmissionRequest,
    Decision,
    Validating,
    Webhooks,
    denied,
)
from cobaltcore.runtime.meta import Object

Problems = Callable[[Object], Iterable[str]]
SHOWN = 5


def register(table: Webhooks) -> None:
    """Check the objects of services, also while no operator answers: then the Job does it alone."""
    for service in definitions.services():
        function = validation(partial(of_service, service.name))
        table.validating(service.kind, function, optional=True)


def validation(problems: Problems) -> Validating:
    """Refuse problems that the stored object does not have."""

    async def validate(request: AdmissionRequest) -> Decision:
        if request.object is None:
            return ALLOWED
        before = frozenset(problems(request.old_object) if request.old_object else ())
        found = [each for each in problems(request.object) if each not in before]
        if not found:
            return ALLOWED
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return denied("; ".join(found[:SHOWN]) + more, code=422)

    return validate


def of_service(service: str, obj: Object) -> Iterator[str]:
    """Problems of the options of a service's object."""
    spec = obj.get("spec") or {}
    image = msgspec.convert(spec["image"], Image) if "image" in spec else None
    known = known_options(service, image or release_image(service, releases.newest()))
    for place, problem in options.problems(known, spec.get("extraConfig") or {}):
        yield f"spec.extraConfig.{place}: {problem}"


def known_options(service: str, image: Image, *, pinned: str = "") -> options.Options:
    """What programs of an image read; `pinned` is the release of a digest. Nothing if unknown."""
    if image.repository != f"{releases.REGISTRY}/{service}":
        return options.Options()
    release = pinned if image.digest else releases.release_of(service, image)
    return (release and options.of(service, release)) or options.Options()


def release_image(service: str, release: str) -> Image:
    """The image of a release."""
    tag = releases.image_tag(service, release)
    return Image(repository=f"{releases.REGISTRY}/{service}", tag=tag)
