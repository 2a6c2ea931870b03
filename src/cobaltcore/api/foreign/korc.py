"""K-ORC (`openstack.k-orc.cloud/v1alpha1`): OpenStack identity as objects.

Every `*_ref` is the name of another K-ORC object, or of a Secret, in the same namespace.
"""

from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from cobaltcore.api.foreign.manifest import Conditions
from cobaltcore.runtime.meta import Kind, Struct

DOMAIN = Kind("openstack.k-orc.cloud", "v1alpha1", "Domain", "domains")
PROJECT = Kind("openstack.k-orc.cloud", "v1alpha1", "Project", "projects")
ROLE = Kind("openstack.k-orc.cloud", "v1alpha1", "Role", "roles")
GROUP = Kind("openstack.k-orc.cloud", "v1alpha1", "Group", "groups")
USER = Kind("openstack.k-orc.cloud", "v1alpha1", "User", "users")
ROLE_ASSIGNMENT = Kind("openstack.k-orc.cloud", "v1alpha1", "RoleAssignment", "roleassignments")
SERVICE = Kind("openstack.k-orc.cloud", "v1alpha1", "Service", "services")
ENDPOINT = Kind("openstack.k-orc.cloud", "v1alpha1", "Endpoint", "endpoints")
APPLICATION_CREDENTIAL = Kind(
    "openstack.k-orc.cloud", "v1alpha1", "ApplicationCredential", "applicationcredentials"
)

FINALIZER_PREFIX = "openstack.k-orc.cloud/"
"""Of all finalizers of K-ORC."""
RESYNC_PERIOD = "10m"
"""How often K-ORC compares what we ask for with what Keystone has."""
TERMINAL_REASONS = frozenset({"InvalidConfiguration", "UnrecoverableError"})
"""Reasons of the condition `Progressing` after which the operator does not try again."""

ResourceT = TypeVar("ResourceT")
FilterT = TypeVar("FilterT")


class CloudCredentialsRef(Struct):
    """The Secret with `clouds.yaml`, and the cloud in it that is used."""

    cloud_name: str
    secret_name: str


class ManagedOptions(Struct):
    """What happens in OpenStack when the object is deleted."""

    on_delete: Literal["delete", "detach"] = "delete"


class Import(Struct, Generic[FilterT]):
    """An existing resource, by exactly one of id and filter."""

    id: str | None = None
    filter: FilterT | None = None


class Spec(Struct, Generic[ResourceT, FilterT]):
    """A resource that is either managed or imported."""

    cloud_credentials_ref: CloudCredentialsRef
    management_policy: Literal["managed", "unmanaged"] = "managed"
    managed_options: ManagedOptions | None = None
    resource: ResourceT | None = None
    import_: Import[FilterT] | None = msgspec.field(default=None, name="import")
    resync_period: str | None = None


class Status(Conditions):
    """What is known about the resource in OpenStack."""

    id: str | None = None


class NameFilter(Struct):
    """Picks a resource by its name."""

    name: str


class ScopedNameFilter(Struct):
    """Picks a resource by its name within a domain."""

    name: str
    domain_ref: str | None = None


class DomainResource(Struct):
    """A domain."""

    name: str | None = None
    description: str | None = None
    enabled: bool | None = None


class ProjectResource(Struct):
    """A project."""

    name: str | None = None
    description: str | None = None
    domain_ref: str | None = None
    enabled: bool | None = None
    tags: list[str] = []


class RoleResource(Struct):
    """A role."""

    name: str | None = None
    description: str | None = None
    domain_ref: str | None = None


class GroupResource(Struct):
    """A group of users."""

    name: str | None = None
    description: str | None = None
    domain_ref: str | None = None


class UserResource(Struct):
    """A user; the Secret that `password_ref` names has the password under `password`."""

    name: str | None = None
    description: str | None = None
    domain_ref: str | None = None
    default_project_ref: str | None = None
    enabled: bool | None = None
    password_ref: str | None = None


class RoleAssignmentResource(Struct):
    """A role for one user or group, in one project or domain."""

    role_ref: str
    user_ref: str | None = None
    group_ref: str | None = None
    project_ref: str | None = None
    domain_ref: str | None = None


class RoleAssignmentSpec(Struct):
    """An assignment; it has no id in OpenStack and is never imported."""

    cloud_credentials_ref: CloudCredentialsRef
    managed_options: ManagedOptions | None = None
    resource: RoleAssignmentResource
    resync_period: str | None = None


class ServiceResource(Struct):
    """An entry of the service catalogue."""

    name: str | None = None
    type: str
    description: str | None = None
    enabled: bool = True


class ServiceFilter(Struct):
    """Picks a catalogue entry."""

    name: str | None = None
    type: str | None = None


class EndpointResource(Struct):
    """An address of a catalogue entry. K-ORC knows no region."""

    service_ref: str
    interface: Literal["admin", "internal", "public"]
    url: str
    description: str | None = None
    enabled: bool | None = None


class EndpointFilter(Struct):
    """Picks an address of a catalogue entry."""

    service_ref: str | None = None
    interface: Literal["admin", "internal", "public"] | None = None
    url: str | None = None


class ApplicationCredentialResource(Struct):
    """A credential; the Secret that `secret_ref` names has its secret under `value`."""

    name: str | None = None
    description: str | None = None
    user_ref: str
    secret_ref: str
    role_refs: list[str] = []
    unrestricted: bool | None = None
    expires_at: str | None = None


class ApplicationCredentialFilter(Struct):
    """Picks a credential of a user."""

    user_ref: str
    name: str | None = None


DomainSpec: TypeAlias = Spec[DomainResource, NameFilter]
ProjectSpec: TypeAlias = Spec[ProjectResource, ScopedNameFilter]
RoleSpec: TypeAlias = Spec[RoleResource, ScopedNameFilter]
GroupSpec: TypeAlias = Spec[GroupResource, ScopedNameFilter]
UserSpec: TypeAlias = Spec[UserResource, ScopedNameFilter]
ServiceSpec: TypeAlias = Spec[ServiceResource, ServiceFilter]
EndpointSpec: TypeAlias = Spec[EndpointResource, EndpointFilter]
ApplicationCredentialSpec: TypeAlias = Spec[
    ApplicationCredentialResource, ApplicationCredentialFilter
]
