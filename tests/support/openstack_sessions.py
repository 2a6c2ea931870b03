"""Sessions of the OpenStack client with a server of a test."""

from datetime import timedelta

from cobaltcore.openstack.auth import ApplicationCredential, Credentials
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.openstack.retry import Retry
from cobaltcore.openstack.session import Session
from cobaltcore.runtime.clock import Clock
from tests.support.openstack_peer import Peer

CREDENTIAL = ApplicationCredential("some-id", "s3cret")
QUICK = Retry(first_pause=timedelta(milliseconds=1), longest_pause=timedelta(milliseconds=1500))


def a_session(
    cloud: Peer,
    *,
    credentials: Credentials = CREDENTIAL,
    ca_certificates: str = "",
    timeout: timedelta = timedelta(seconds=30),
    clock: Clock | None = None,
) -> Session:
    """A session whose pauses are short."""
    found = Cloud(
        auth_url=cloud.auth_url,
        credentials=credentials,
        ca_certificates=ca_certificates,
        timeout=timeout,
    )
    return Session(found, retry=QUICK, clock=clock)
