"""One transaction on an OVSDB server (RFC 7047), over TCP or TLS.

A connection lasts for one transaction: passes are seconds apart, and a server that was replaced
meanwhile needs no notice.
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

PATIENCE = timedelta(seconds=5)
CHUNK_BYTES = 2**18
LARGEST_ANSWER_BYTES = 2**26

Row = dict[str, Any]
Operation = dict[str, Any]


class DatabaseFault(errors.RuntimeFault):
    """A database did not answer, or refused."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its key, and the authority that the server must be signed by."""

    certificate: str
    key: str = field(repr=False)
    authority: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; with a pair it speaks TLS."""

    host: str
    port: int
    pair: Pair | None = None

    def __str__(self) -> str:
        return f"{'ssl' if self.pair else 'tcp'}:{self.host}:{self.port}"


async def transact(
    address: Address, database: str, operations: Sequence[Operation]
) -> list[list[Row]]:
    """Carry out operations in one transaction; return the rows that each of them found."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            answer = await _ask(address, [database, *operations])
    except (OSError, TimeoutError, ValueError) as error:
        why = str(error) or f"no answer within {PATIENCE.total_seconds():g} s"
        raise DatabaseFault(f"{database} at {address}: {why}") from error
    # A transaction that fails has one more result, which says why.
    for result in answer:
        if result and result.get("error"):
            details = result.get("details") or result["error"]
            raise DatabaseFault(f"{database} at {address} refuses: {details}")
    return [(result or {}).get("rows") or [] for result in answer]


async def _ask(address: Address, parameters: Sequence[Any]) -> list[Row]:
    context = _context(address.pair) if address.pair else None
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
    """Messages follow each other without a separator; the server may ask whether we live."""
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


def _context(pair: Pair) -> ssl.SSLContext:
    """Servers are told apart by their authority: certificates of databases name no addresses."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=pair.authority)
    context.check_hostname = False
    # OpenSSL reads keys from files only; this one exists in memory, and for this process.
    handle = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        os.write(handle, f"{pair.certificate}\n{pair.key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
    return context
