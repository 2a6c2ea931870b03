"""Transactions on an OVSDB server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext

import pytest

from cobaltcore.operators.ovn import ovsdb
from cobaltcore.operators.ovn.ovsdb import Address, ClientCertificate, DatabaseFault
from cobaltcore.runtime import certificates


@asynccontextmanager
async def server(*chunks: str, tls: SSLContext | None = None) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)
        for chunk in chunks:
            writer.write(chunk.encode())
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def answer(*results: object) -> str:
    return json.dumps({"id": 0, "error": None, "result": list(results)})


async def test_an_answer_may_come_in_parts_and_after_a_question() -> None:
    text = json.dumps({"method": "echo", "id": "e", "params": []}) + answer({"rows": [{"a": 1}]})
    async with server(text[:10], text[10:50], text[50:]) as port:
        found = await ovsdb.transact(Address("127.0.0.1", port), "db", [{"op": "select"}])
    assert found == [[{"a": 1}]]


async def test_a_refusal_names_the_reason() -> None:
    refusal = {"error": "constraint violation", "details": "no such column"}
    async with server(answer({}, refusal)) as port:
        with pytest.raises(DatabaseFault, match=f"db at tcp:127.0.0.1:{port} refuses: no such"):
            await ovsdb.transact(Address("127.0.0.1", port), "db", [{"op": "select"}])


async def test_a_server_that_hangs_up_is_an_error_and_not_a_wait() -> None:
    async with server('{"id": 0, ') as port:
        with pytest.raises(DatabaseFault, match="closed the connection"):
            await ovsdb.transact(Address("127.0.0.1", port), "db", [])


async def test_nobody_there() -> None:
    with pytest.raises(DatabaseFault, match=r"tcp:127\.0\.0\.1:1: "):
        await ovsdb.transact(Address("127.0.0.1", 1), "db", [])


async def test_a_server_of_another_authority_is_not_spoken_to(tmp_path: Path) -> None:
    now, day = datetime.now(UTC), timedelta(days=1)
    authority = certificates.authority("ovn", now=now, lifetime=day)
    pair = certificates.serving(authority, ["ovn"], now=now, lifetime=day)
    other = certificates.authority("other", now=now, lifetime=day)
    (tmp_path / "pair").write_bytes(pair.certificate + pair.key)
    tls = SSLContext(PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "pair")
    texts = pair.certificate.decode(), pair.key.decode()
    async with server(answer({}), tls=tls) as port:
        known = Address(
            "127.0.0.1", port, ClientCertificate(*texts, authority.certificate.decode())
        )
        assert await ovsdb.transact(known, "db", [{"op": "select"}]) == [[]]
        foreign = Address("127.0.0.1", port, ClientCertificate(*texts, other.certificate.decode()))
        with pytest.raises(DatabaseFault, match="certificate"):
            await ovsdb.transact(foreign, "db", [])
