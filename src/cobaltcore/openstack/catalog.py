"""Keystone's catalogue: where the API of a service is. Pure."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from cobaltcore.openstack.errors import NotInCatalog

Interface = Literal["public", "internal", "admin"]


@dataclass(frozen=True, slots=True)
class ServiceType:
    """A service by its official type, and the older types that clouds may have instead."""

    name: str
    aliases: tuple[str, ...] = ()
    microversion: str = ""
    """Its name in the header OpenStack-API-Version, if that is not its type."""

    @property
    def header(self) -> str:
        return self.microversion or self.name


IDENTITY = ServiceType("identity")
COMPUTE = ServiceType("compute")
PLACEMENT = ServiceType("placement")
NETWORK = ServiceType("network")
IMAGE = ServiceType("image")
BLOCK_STORAGE = ServiceType("block-storage", ("volumev3", "volume"), microversion="volume")
KEY_MANAGER = ServiceType("key-manager")
TYPES = {
    each.name: each
    for each in (IDENTITY, COMPUTE, PLACEMENT, NETWORK, IMAGE, BLOCK_STORAGE, KEY_MANAGER)
}


class Endpoint(msgspec.Struct, frozen=True):
    """An address of a service."""

    url: str
    interface: str
    region_id: str | None = None


class Entry(msgspec.Struct, frozen=True):
    """A service with its addresses."""

    type: str
    name: str = ""
    endpoints: tuple[Endpoint, ...] = ()


Catalog: TypeAlias = tuple[Entry, ...]


def find(catalog: Catalog, wanted: ServiceType, *, interface: Interface, region: str) -> str:
    """The URL of a service without a slash at its end."""
    for name in (wanted.name, *wanted.aliases):
        for entry in catalog:
            if entry.type != name:
                continue
            for each in entry.endpoints:
                if (each.interface, each.region_id) == (interface, region):
                    return each.url.rstrip("/")
    raise NotInCatalog(
        f"Keystone's catalogue has no {interface} endpoint of type {wanted.name!r} "
        f"in region {region!r}{_instead(catalog, wanted)}",
        f"create one with: openstack endpoint create --region {region} "
        f"{wanted.name} {interface} URL",
    )


def _instead(catalog: Catalog, wanted: ServiceType) -> str:
    """What the catalogue has of the service, as the end of a sentence."""
    names = (wanted.name, *wanted.aliases)
    found = sorted(
        f"{each.interface} in {each.region_id!r}"
        for entry in catalog
        if entry.type in names
        for each in entry.endpoints
    )
    return f"; it has: {', '.join(found)}" if found else ""
