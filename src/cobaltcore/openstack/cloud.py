"""Which cloud, and as whom. Pure."""

from dataclasses import dataclass, field
from datetime import timedelta

from cobaltcore.openstack.auth import Credentials
from cobaltcore.openstack.catalog import Interface

TIMEOUT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Where a cloud is, and who logs in."""

    auth_url: str
    """Keystone with its version, for example https://keystone:5000/v3."""
    credentials: Credentials
    region: str = "RegionOne"
    interface: Interface = "internal"
    ca_certificates: str = field(default="", repr=False)
    """PEM; empty: those of the system."""
    timeout: timedelta = TIMEOUT
    """Of one attempt of a request."""
