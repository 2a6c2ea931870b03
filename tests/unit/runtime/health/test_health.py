import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cobaltcore.runtime import errors
from cobaltcore.runtime.health import HealthServer


@asynccontextmanager
async def a_server(*, ready: bool = True) -> AsyncIterator[HealthServer]:
    server = HealthServer(host="127.0.0.1", port=0, ready=lambda: ready)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def request(server: HealthServer, text: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(text.encode())
        return (await asyncio.wait_for(reader.read(), 30)).decode()
    finally:
        writer.close()


async def get(server: HealthServer, path: str) -> str:
    return await request(server, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")


async def test_healthz_is_ok_before_caches_are_synced() -> None:
    async with a_server(ready=False) as server:
        response = await get(server, "/healthz")
    assert response.startswith("HTTP/1.1 200 OK\r\n")
    assert response.endswith("\r\n\r\nok")


@pytest.mark.parametrize(("ready", "status"), [(False, 503), (True, 200)])
async def test_readyz_follows_readiness(ready: bool, status: int) -> None:
    async with a_server(ready=ready) as server:
        assert (await get(server, "/readyz?verbose=1")).startswith(f"HTTP/1.1 {status} ")


async def test_metrics_are_in_prometheus_text_format() -> None:
    async with a_server() as server:
        response = await get(server, "/metrics")
    head, _, body = response.partition("\r\n\r\n")
    assert "Content-Type: text/plain; version=" in head
    assert f"Content-Length: {len(body.encode())}" in head
    assert "# TYPE cobalt_queue_depth gauge" in body


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("GET /unknown HTTP/1.1\r\n\r\n", 404),
        ("POST /healthz HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
        ("nonsense\r\n\r\n", 405),
    ],
)
async def test_other_requests_are_refused(text: str, status: int) -> None:
    async with a_server() as server:
        assert (await request(server, text)).startswith(f"HTTP/1.1 {status} ")


async def test_a_head_without_end_is_not_collected() -> None:
    async with a_server() as server:
        assert await request(server, "x" * 100_000) == ""


async def test_a_port_in_use_is_named() -> None:
    async with a_server() as server:
        other = HealthServer(host="127.0.0.1", port=server.port, ready=lambda: True)
        with pytest.raises(errors.ConfigError, match=f"port {server.port}: ") as raised:
            await other.start()
    assert "--health-port" in raised.value.hint
