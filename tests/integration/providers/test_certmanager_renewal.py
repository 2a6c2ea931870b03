"""A certificate is renewed before it ends, and who connects then sees the new one."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from cobaltcore.api.foreign.certmanager import CERTIFICATE, ISSUER
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.runtime import certificates
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.timestamps import parse_timestamp
from cobaltlab.providers import certmanager_policy as policy
from cobaltlab.providers.certmanager import PROVIDER
from tests.integration.providers import certmanager_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.fake_clock import FakeClock
from tests.support.operating import eventually
from tests.support.providers import RunningProviders, condition, install, running_providers
from tests.support.rights import as_provider

DAY = timedelta(days=1)


class TlsServer:
    """A server that takes its certificate from files, as a pod with a mounted Secret does."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.port = 0

    async def mount(self, client: Client, key: Key) -> None:
        """Write the Secret's files and present them from the next connection on."""
        found = await client.get(SECRET, key)
        for name, value in found["data"].items():
            (self._directory / name).write_bytes(policy.decoded(value))
        self._context.load_cert_chain(self._directory / "tls.crt", self._directory / "tls.key")

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(_greet, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield


async def _greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello")
    await writer.drain()
    writer.close()


async def presented(port: int, bundle: str) -> x509.Certificate:
    """Connect as a client that trusts `bundle` alone; what the server showed."""
    trust = ssl.create_default_context(cadata=bundle)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=trust, server_hostname="localhost"
    )
    try:
        assert await reader.read(5) == b"hello"
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(shown)
    finally:
        writer.close()
        await writer.wait_closed()


async def published(client: Client, namespace: str) -> str:
    found = await client.get(CONFIG_MAP, Key(namespace, "cobalt-ca-bundle"))
    return str(found["data"]["ca.crt"])


async def revision(client: Client, namespace: str) -> int:
    found = await client.get(CERTIFICATE, Key(namespace, "web"))
    return int((found.get("status") or {}).get("revision") or 0)


async def settled(running: RunningProviders, clock: FakeClock) -> None:
    """Let the provider finish; a reconcile after a conflict is due when the clock moves."""

    async def is_idle() -> bool:
        await clock.advance(0.1)
        return await running.is_idle()

    await eventually(is_idle, "the provider is_idle")


async def a_ready_certificate(
    client: Client, namespace: str, running: RunningProviders, clock: FakeClock, **spec: str
) -> None:
    await client.create(ISSUER, objects.a_self_signer(namespace))
    authority = objects.an_authority(namespace, duration="87600h")
    await client.create(CERTIFICATE, authority)
    await client.create(ISSUER, objects.an_issuer(namespace))
    await client.create(CERTIFICATE, objects.a_certificate(namespace, **spec))

    async def issued() -> bool:
        await clock.advance(0.1)
        state = await condition(client, CERTIFICATE, Key(namespace, "web"))
        return state == ("True", "Ready") and await revision(client, namespace) == 1

    await eventually(issued, "the certificate exists")
    await settled(running, clock)


async def test_a_tls_client_sees_the_renewed_certificate(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, tmp_path: Path
) -> None:
    await install(client, PROVIDER)
    # Real TLS looks at the real time: what is renewed after 60 of 90 days must be valid today.
    clock = FakeClock(datetime.now(UTC) - 61 * DAY)
    server = TlsServer(tmp_path)
    fault_transport = as_provider(control_plane, "renewal")
    async with running_providers(fault_transport, PROVIDER, clock=clock) as running:
        await a_ready_certificate(client, namespace, running, clock)
        await server.mount(client, Key(namespace, "web-tls"))
        async with server.listening():
            first = await presented(server.port, await published(client, namespace))
            await clock.advance((59 * DAY).total_seconds())
            await settled(running, clock)
            assert await revision(client, namespace) == 1
            assert clock.now() < first.not_valid_after_utc - 30 * DAY

            async def renewed() -> bool:
                await clock.advance(3600)
                return await revision(client, namespace) == 2

            await eventually(renewed, "the certificate is renewed")
            await server.mount(client, Key(namespace, "web-tls"))
            second = await presented(server.port, await published(client, namespace))
    assert second.serial_number != first.serial_number
    assert second.not_valid_before_utc < first.not_valid_after_utc < second.not_valid_after_utc


async def test_renew_before_sets_the_time_of_renewal(
    control_plane: ControlPlaneHarness, client: Client, namespace: str
) -> None:
    await install(client, PROVIDER)
    clock = FakeClock(datetime.now(UTC).replace(microsecond=0))
    fault_transport = as_provider(control_plane, "renew-before")
    async with running_providers(fault_transport, PROVIDER, clock=clock) as running:
        await a_ready_certificate(
            client, namespace, running, clock, duration="24h", renewBefore="1h"
        )
        status = (await client.get(CERTIFICATE, Key(namespace, "web")))["status"]
        end = parse_timestamp(status["notAfter"])
        assert end - parse_timestamp(status["renewalTime"]) == timedelta(hours=1)


async def test_an_expired_certificate_without_issuer_is_reported(
    control_plane: ControlPlaneHarness, client: Client, namespace: str
) -> None:
    await install(client, PROVIDER)
    clock = FakeClock(datetime.now(UTC))
    fault_transport = as_provider(control_plane, "expiry")
    key = Key(namespace, "web")
    async with running_providers(fault_transport, PROVIDER, clock=clock) as running:
        await a_ready_certificate(client, namespace, running, clock, duration="24h")
        await client.delete(ISSUER, Key(namespace, "root"))
        await settled(running, clock)

        async def waits() -> bool:
            await clock.advance(1800)
            return await condition(client, CERTIFICATE, key, "Issuing") == ("True", "Renewing")

        await eventually(waits, "the renewal is due")
        assert await condition(client, CERTIFICATE, key) == ("True", "Ready")

        async def expired() -> bool:
            await clock.advance(1800)
            return await condition(client, CERTIFICATE, key) == ("False", "Expired")

        await eventually(expired, "the end of the certificate is report")
        await client.create(ISSUER, objects.an_issuer(namespace))

        async def renewed() -> bool:
            await clock.advance(1)
            return await condition(client, CERTIFICATE, key) == ("True", "Ready")

        await eventually(renewed, "the certificate is renewed")
    found = await client.get(SECRET, Key(namespace, "web-tls"))
    assert certificates.validity(policy.decoded(found["data"]["tls.crt"]))[1] > clock.now()
