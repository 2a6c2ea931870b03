"""Run a program in a container, through the API server and over a WebSocket.

The first byte of every message names a channel: input, output, errors, and the outcome at the end.
Version 5 of the protocol is the first in which input can be ended.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from cobaltcore.runtime import errors
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.transport import Request, Socket, Transport

PROTOCOL = "v5.channel.k8s.io"
PATIENCE = timedelta(seconds=30)

_STDIN, _STDOUT, _STDERR, _OUTCOME = range(4)
_END_OF = 255
_CHUNK_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Program:
    """What to run and where; without a container the pod's first one is meant."""

    pod: Key
    command: tuple[str, ...]
    container: str = ""

    def __str__(self) -> str:
        return f"{self.command[0]} in pod {self.pod}"


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended and what it said."""

    code: int
    stdout: bytes = field(default=b"", repr=False)
    stderr: bytes = b""


async def run(
    transport: Transport, program: Program, *, stdin: bytes = b"", within: timedelta = PATIENCE
) -> Completed:
    """Run a program to its end; raise ApiError if it could not be started."""
    try:
        async with (
            asyncio.timeout(within.total_seconds()),
            transport.converse(_request(program, stdin), protocol=PROTOCOL) as socket,
        ):
            return await _talk(socket, program, stdin)
    except TimeoutError as error:
        raise errors.Unreachable(
            f"{program} did not end within {within.total_seconds():g} s"
        ) from error


def _request(program: Program, stdin: bytes) -> Request:
    query = [("command", word) for word in program.command]
    query += [("container", program.container)] if program.container else []
    query += [("stdin", "true")] if stdin else []
    query += [("stdout", "true"), ("stderr", "true")]
    path = f"/api/v1/namespaces/{program.pod.namespace}/pods/{program.pod.name}/exec"
    return Request("GET", f"{path}?{urlencode(query, quote_via=quote)}")


async def _talk(socket: Socket, program: Program, stdin: bytes) -> Completed:
    """Speak and listen at once: a program may answer before it has heard everything."""
    try:
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(_feed(socket, stdin)) if stdin else None
            completed = await _listen(socket, program)
            if feeding is not None:
                feeding.cancel()
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    return completed


async def _feed(socket: Socket, stdin: bytes) -> None:
    for start in range(0, len(stdin), _CHUNK_BYTES):
        await socket.send(bytes([_STDIN]) + stdin[start : start + _CHUNK_BYTES])
    await socket.send(bytes([_END_OF, _STDIN]))


async def _listen(socket: Socket, program: Program) -> Completed:
    said = {_STDOUT: bytearray(), _STDERR: bytearray()}
    while (message := await socket.receive()) is not None:
        channel, content = message[0], message[1:]
        if channel in said:
            said[channel] += content
        elif channel == _OUTCOME:
            code = exit_code(msgspec.json.decode(content))
            return Completed(code, bytes(said[_STDOUT]), bytes(said[_STDERR]))
    raise errors.Unreachable(f"the connection to {program} ended before its outcome was told")


def exit_code(outcome: Mapping[str, Any]) -> int:
    """Read the exit code of a program that ran; raise ApiError about one that did not."""
    if outcome.get("status") == "Success":
        return 0
    if outcome.get("reason") == "NonZeroExitCode":
        for cause in (outcome.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
    raise errors.from_status(int(outcome.get("code") or 500), msgspec.json.encode(outcome))
