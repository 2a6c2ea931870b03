"""One transaction on an OVSDB server (RFC 7047), over TCP or TLS.

A connection lasts for one transaction: reconciles are seconds apart, and no connection is left open
to a server that has been replaced.
"""

import asyncio
import json
import os
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cobaltcore.runtime import errors

TIMEOUT = timedelta(seconds=5)
CHUNK_BYTES = 2**18
LARGEST_ANSWER_BYTES = 2**26

Row = dict[str, Any]
Operation = dict[str, Any]


class DatabaseFault(errors.Unreachable):
    """A database did not answer, or refused."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate with its key, and the CA that must have signed the server's."""

    certificate: str
    key: str = field(repr=False)
    authority: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; with a client certificate it uses TLS."""

    host: str
    port: int
    client: ClientCertificate | None = None

    def __str__(self) -> str:
        return f"{'ssl' if self.client else 'tcp'}:{self.host}:{self.port}"


async def transact(
    address: Address, database: str, operations: Sequence[Operation]
) -> list[list[Row]]:
    """Run operations in one transaction; return the rows that each of them found."""
    try:
        async with asyncio.timeout(TIMEOUT.total_seconds()):
            answer = await _ask(address, [database, *operations])
    except (OSError, TimeoutError, ValueError) as error:
        why = str(error) or f"no answer within {TIMEOUT.total_seconds():g} s"
        raise DatabaseFault(f"{database} at {address}: {why}") from error
    # A transaction that fails has one more result with the reason.
    for result in answer:
        if result and result.get("error"):
            details = result.get("details") or result["error"]
            raise DatabaseFault(f"{database} at {address} refuses: {details}")
    return [(result or {}).get("rows") or [] for result in answer]


async def _ask(address: Address, parameters: Sequence[Any]) -> list[Row]:
    context = _context(address.client) if address.client else None
    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
    try:
        request = {"method": "transact", "params": parameters, "id": 0}
        writer.write(json.dumps(request).encode())
        await writer.drain()
        return await _answer(reader)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> list[Row]:
    """Messages follow each other without a separator; the server may send echo requests."""
    decoder, text = json.JSONDecoder(), ""
    while len(text) < LARGEST_ANSWER_BYTES:
        chunk = await reader.read(CHUNK_BYTES)
        if not chunk:
            raise ValueError("the server closed the connection")
        text += chunk.decode()
        while text.endswith("}"):
            try:
                message, end = decoder.raw_decode(text)
            except ValueError:
                break
            text = text[end:]
            if message.get("id") == 0 and "result" in message:
                return _result(message)
    raise ValueError("the answer is too long")


def _result(message: Row) -> list[Row]:
    if message.get("error"):
        raise ValueError(str(message["error"]))
    found: list[Row] = message["result"]
    return found


def _context(client: ClientCertificate) -> ssl.SSLContext:
    """Servers are verified by their CA only: certificates of databases contain no addresses."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=client.authority)
    context.check_hostname = False
    # OpenSSL reads keys from files only; a memfd is never written to disk.
    handle = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(handle, f"{client.certificate}\n{client.key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
    return context
