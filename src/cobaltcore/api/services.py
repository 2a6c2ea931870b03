"""The OpenStack services of a ControlPlane: what users may say about each. Pure: no I/O."""

from typing import Annotated, ClassVar

from cobaltcore.api.base import Meta, Rule, Struct, Url, list_map
from cobaltcore.api.blocks import ExtraConfig, ImageDigest, ImageRepository, ImageTag, Policy
from cobaltcore.api.keystone import CredentialKeyRotation, Federation, KeyRotation
from cobaltcore.api.neutron import Ml2
from cobaltcore.api.nova import Cell, Compute
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
    """Content digest. Pins the exact image, also through a change of release."""


class ServiceToggle(PodSettings):
    """What may be said about every service."""

    enabled: bool = True
    """Run the service. Switched off, its pods go and its data stays."""
    image: ImageOverride | None = None
    """Another image than that of the release."""
    public_endpoint: Url | None = None
    """Address for users, in the catalogue. Unset: the one inside the cluster."""
    policy_overrides: Policy | None = None
    """Changes to the access rules. Win over those of global."""
    extra_config: ExtraConfig | None = None
    """Options for the configuration file: section to option to value. Win over those of global."""


class ServiceSettings(ServiceToggle):
    """What may be said about a service of equal pods."""

    replicas: Replicas | None = None
    """How many pods run. Unset: global.replicas, or else 2."""


class WorkloadSettings(Struct):
    """One set of equal pods of a service."""

    replicas: Replicas | None = None
    """How many pods run. Unset: global.replicas, or else 2."""
    resources: Resources | None = None
    """CPU and memory of the main container. Unset: as for the whole service."""


class KeystoneSettings(ServiceSettings):
    """Keystone, the identity service."""

    replicas: Replicas | None = None
    """How many pods run. Unset: global.replicas, or else 3."""
    fernet: KeyRotation | None = None
    """Keys that tokens are made with. Unset: a new one each week, three kept."""
    credential_keys: CredentialKeyRotation | None = None
    """Keys of stored credentials. Unset: a new one each month, three kept."""
    federation: Federation | None = None
    """Login through other identity providers. Unset: off."""


class NovaSettings(ServiceToggle):
    """Nova, the compute service."""

    api: WorkloadSettings | None = None
    """The compute API."""
    scheduler: WorkloadSettings | None = None
    """The pods that choose a host for each server."""
    conductor: WorkloadSettings | None = None
    """The pods that write to the databases for the hypervisors."""
    metadata: WorkloadSettings | None = None
    """The metadata API."""
    compute: Compute | None = None
    """nova-compute on the hypervisor nodes."""
    cells: Annotated[list[Cell], Meta(min_length=1, max_length=32), list_map("name")] | None = None
    """Shares of the hypervisors. Unset: one, cell1."""


class NeutronSettings(ServiceToggle):
    """Neutron, the network service."""

    api: WorkloadSettings | None = None
    """The network API."""
    ml2: Ml2 | None = None
    """Which kinds of networks there are. Unset: geneve, vlan and flat, realised by OVN."""


class CinderSettings(ServiceToggle):
    """Cinder, the block storage service."""

    api: WorkloadSettings | None = None
    """The block storage API."""
    scheduler: WorkloadSettings | None = None
    """The pods that choose a backend for each volume."""
    volume: WorkloadSettings | None = None
    """The pods that talk to the backends."""


class Services(Struct):
    """OpenStack services."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.keystone.enabled || !(self.glance.enabled || self.placement.enabled || "
            "self.nova.enabled || self.neutron.enabled || self.cinder.enabled)",
            "keystone: cannot be off while another service is on",
            "keystone",
        ),
        Rule(
            "!self.nova.enabled || (self.placement.enabled && self.glance.enabled && "
            "self.neutron.enabled)",
            "nova: needs placement, glance and neutron",
            "nova",
        ),
    )

    keystone: KeystoneSettings = KeystoneSettings()
    """Identity: users, projects, roles, tokens and the catalogue."""
    glance: ServiceSettings = ServiceSettings()
    """Images to boot servers from."""
    placement: ServiceSettings = ServiceSettings()
    """Inventory of what hypervisors have and who uses it."""
    nova: NovaSettings = NovaSettings()
    """Servers and hypervisors."""
    neutron: NeutronSettings = NeutronSettings()
    """Networks, realised by OVN."""
    cinder: CinderSettings = CinderSettings()
    """Volumes."""
