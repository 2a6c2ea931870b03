"""What `spec.services` of a ControlPlane may say about a service, and how a service adds its block.

A service registers a struct next to its kind; `api.services` collects them. Pure: no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from cobaltcore.api.base import Rule, Struct, Url
from cobaltcore.api.blocks import ImageDigest, ImageRepository, ImageTag, Policy
from cobaltcore.api.options import ExtraConfig
from cobaltcore.api.pods import PodSettings, Replicas, Resources


class ImageOverride(Struct):
    """Another image than that of the release."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("!(has(self.tag) && has(self.digest))", "image: set at most one of tag and digest"),
    )

    repository: ImageRepository | None = None
    """Registry and path, without tag. Unset: that of the release."""
    tag: ImageTag | None = None
    """Tag. Unset: that of the release."""
    digest: ImageDigest | None = None
    """Content digest. Pins the exact image, also during an upgrade."""


class ServiceToggle(PodSettings):
    """Settings of every service."""

    enabled: bool = True
    """Run the service. false deletes its pods and keeps its data."""
    image: ImageOverride | None = None
    """Another image than that of the release."""
    public_endpoint: Url | None = None
    """Public URL in the catalogue. Unset: the URL inside the cluster."""
    policy_overrides: Policy | None = None
    """Policy rules of the service. They take precedence over those of global."""
    extra_config: ExtraConfig | None = None
    """Options of the configuration file: section to option to value. They take precedence over
    those of global."""


class ServiceSettings(ServiceToggle):
    """Settings of a service with one Deployment."""

    replicas: Replicas | None = None
    """Number of pods. Unset: global.replicas, or else 2."""


class WorkloadSettings(Struct):
    """One Deployment of a service."""

    replicas: Replicas | None = None
    """Number of pods. Unset: global.replicas, or else 2."""
    resources: Resources | None = None
    """CPU and memory of the main container. Unset: as for the whole service."""


@dataclass(frozen=True, slots=True)
class Block:
    """A field of `spec.services`."""

    name: str
    struct: type[ServiceToggle]
    needs: tuple[str, ...]
    """Services that must be on with it."""


_blocks: dict[str, Block] = {}
BlockT = TypeVar("BlockT", bound=ServiceToggle)


def block(name: str, *, needs: tuple[str, ...] = ()) -> Callable[[type[BlockT]], type[BlockT]]:
    """Register a struct as the block of a service; its docstring describes the field."""

    def register(struct: type[BlockT]) -> type[BlockT]:
        _blocks[name] = Block(name, struct, needs)
        return struct

    return register


def blocks() -> list[Block]:
    """The blocks of all kinds imported so far, by name."""
    return [_blocks[name] for name in sorted(_blocks)]
