import asyncio
import io
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from cobaltcore.runtime import admission, certificates, errors, webhook
from cobaltcore.runtime.admission import AdmissionRequest, Decision, Webhooks
from cobaltcore.runtime.meta import Kind
from cobaltcore.runtime.webhook import Endpoint, WebhookServer

THING = Kind("example.com", "v1", "Thing", "things")
PATH = admission.validate_path(THING)
AUTHORITY = certificates.authority("test", now=datetime.now(UTC))
REVIEW = msgspec.json.encode(
    {
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "u",
            "kind": {"group": "example.com", "version": "v1", "kind": "Thing"},
            "operation": "CREATE",
        },
    }
)


class Gate:
    """A validating function that a test can hold."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def decide(self, _: AdmissionRequest) -> Decision:
        self.entered.set()
        await self.open.wait()
        return admission.ALLOWED


def write_pair(directory: Path) -> certificates.Pair:
    pair = certificates.serving(AUTHORITY, ["127.0.0.1"], now=datetime.now(UTC))
    certificates.write(pair, certificate=directory / "tls.crt", key=directory / "tls.key")
    return pair


def an_endpoint(directory: Path, port: int = 0) -> Endpoint:
    return Endpoint(directory / "tls.crt", directory / "tls.key", host="127.0.0.1", port=port)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def server(tmp_path: Path, gate: Gate) -> AsyncIterator[WebhookServer]:
    write_pair(tmp_path)
    webhooks = Webhooks()
    webhooks.validating(THING, gate.decide)
    server = WebhookServer(webhooks, an_endpoint(tmp_path))
    await server.start()
    yield server
    gate.open.set()
    await server.stop()


@pytest.fixture
async def session(server: WebhookServer) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    connector = aiohttp.TCPConnector(ssl=context)
    base = f"https://127.0.0.1:{server.port}"
    async with aiohttp.ClientSession(base, connector=connector) as session:
        yield session


async def presented(port: int) -> bytes:
    """The certificate that a new connection gets to see."""
    context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return ssl.DER_cert_to_PEM_cert(found).encode()


async def ask(session: aiohttp.ClientSession) -> dict[str, Any]:
    async with session.post(PATH, data=REVIEW) as answer:
        assert answer.status == 200
        decoded: dict[str, Any] = await answer.json()
        return decoded


async def test_server_answers_reviews_and_health(session: aiohttp.ClientSession) -> None:
    assert (await ask(session))["response"] == {"uid": "u", "allowed": True}
    async with session.get("/healthz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (PATH, b"{}", 400),
        (PATH, b"words", 400),
        (PATH, b" " * (webhook.BODY_LIMIT_BYTES + 1), 413),
        ("/validate/other", REVIEW, 404),
    ],
)
async def test_server_refuses_what_is_no_review(
    session: aiohttp.ClientSession, path: str, body: bytes, status: int
) -> None:
    async with session.post(path, data=io.BytesIO(body)) as answer:
        assert answer.status == status
        assert "Traceback" not in await answer.text()


async def test_new_certificate_counts_from_the_next_handshake(
    server: WebhookServer, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    first = await presented(server.port)
    await ask(session)

    second = write_pair(tmp_path).certificate

    assert await presented(server.port) == second != first
    # The connection that was open before is still good.
    await ask(session)


async def test_broken_new_pair_keeps_the_old_certificate(
    server: WebhookServer, tmp_path: Path
) -> None:
    first = await presented(server.port)

    (tmp_path / "tls.key").write_bytes(AUTHORITY.key)
    assert await presented(server.port) == first
    (tmp_path / "tls.crt").unlink()
    assert await presented(server.port) == first

    second = write_pair(tmp_path).certificate
    assert await presented(server.port) == second


async def test_stop_answers_what_was_asked_and_takes_no_more(
    server: WebhookServer, session: aiohttp.ClientSession, gate: Gate
) -> None:
    gate.open.clear()
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(ask(session))
        await gate.entered.wait()
        stopped = tasks.create_task(server.stop())
        while await is_open(server.port):
            await asyncio.sleep(0)
        assert not asked.done()
        gate.open.set()
    assert asked.result()["response"]["allowed"] is True
    assert stopped.done()


async def is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def test_missing_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match=r"tls\.crt"):
        await WebhookServer(Webhooks(), an_endpoint(tmp_path)).start()


async def test_taken_port_is_named(server: WebhookServer, tmp_path: Path) -> None:
    other = WebhookServer(Webhooks(), an_endpoint(tmp_path, server.port))

    with pytest.raises(errors.ConfigError, match=f"port {server.port}"):
        await other.start()
