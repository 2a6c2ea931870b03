import ssl
from datetime import UTC, datetime

import pytest

from cobaltcore.openstack import errors
from cobaltcore.openstack.transport import HttpTransport, Request
from cobaltcore.runtime import certificates
from tests.support.openstack_peer import peer
from tests.support.openstack_sessions import a_session

AUTHORITY = certificates.authority("test", now=datetime.now(UTC))
OTHER = certificates.authority("other", now=datetime.now(UTC))


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.serving(AUTHORITY, ["127.0.0.1"], now=datetime.now(UTC)).load_into(context)
    return context


def pem(pair: certificates.Pair) -> str:
    return pair.certificate.decode()


async def test_the_ca_bundle_is_trusted(tls: ssl.SSLContext) -> None:
    async with peer(tls) as cloud:
        token = await a_session(cloud, ca_certificates=pem(AUTHORITY)).token()
    assert token.value == "token-1"


@pytest.mark.parametrize("bundle", ["", pem(OTHER)])
async def test_another_ca_is_named_with_the_remedy_and_not_asked_again(
    tls: ssl.SSLContext, bundle: str
) -> None:
    async with peer(tls) as cloud:
        with pytest.raises(errors.Untrusted) as caught:
            await a_session(cloud, ca_certificates=bundle).token()
        assert cloud.asked == []
    assert "the certificate is not trusted" in caught.value.message
    assert "the CA bundle must have the CA that signed" in caught.value.hint


async def test_a_bundle_without_a_certificate_is_named(tls: ssl.SSLContext) -> None:
    async with peer(tls) as cloud:
        with pytest.raises(errors.TrustInvalid, match="the CA bundle holds no certificate"):
            await a_session(cloud, ca_certificates="no certificate").token()


async def test_a_name_resolves_to_the_address_that_is_known_and_the_certificate_is_of_the_name() -> (
    None
):
    name = "keystone.openstack.svc.cluster.local"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.serving(AUTHORITY, [name], now=datetime.now(UTC)).load_into(context)
    async with peer(context) as cloud:
        request = Request(
            method="GET",
            url=cloud.url.replace("127.0.0.1", name),
            ca_certificates=pem(AUTHORITY),
        )
        found = await HttpTransport({name: "127.0.0.1"}).send(request)
    assert found.status == 401
