"""Run a command in a container over the exec subresource and a WebSocket.

The first byte of every message is a channel: stdin, stdout, stderr, and the status at the end.
Version 5 of the protocol is the first that can close stdin.
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
TIMEOUT = timedelta(seconds=30)

_STDIN, _STDOUT, _STDERR, _STATUS = range(4)
_CLOSE = 255
_CHUNK_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Program:
    """A command and the container to run it in, by default the pod's first one."""

    pod: Key
    command: tuple[str, ...]
    container: str = ""

    def __str__(self) -> str:
        return f"{self.command[0]} in pod {self.pod}"


@dataclass(frozen=True, slots=True)
class Completed:
    """Exit code and output of a program."""

    code: int
    stdout: bytes = field(default=b"", repr=False)
    stderr: bytes = b""


async def run(
    transport: Transport, program: Program, *, stdin: bytes = b"", within: timedelta = TIMEOUT
) -> Completed:
    """Run a program to its end; raise ApiError if it could not be started."""
    try:
        async with (
            asyncio.timeout(within.total_seconds()),
            transport.websocket(_request(program, stdin), protocol=PROTOCOL) as socket,
        ):
            return await _communicate(socket, program, stdin)
    except TimeoutError as error:
        raise errors.Unreachable(
            f"{program} did not exit within {within.total_seconds():g} s"
        ) from error


def _request(program: Program, stdin: bytes) -> Request:
    query = [("command", word) for word in program.command]
    query += [("container", program.container)] if program.container else []
    query += [("stdin", "true")] if stdin else []
    query += [("stdout", "true"), ("stderr", "true")]
    path = f"/api/v1/namespaces/{program.pod.namespace}/pods/{program.pod.name}/exec"
    return Request("GET", f"{path}?{urlencode(query, quote_via=quote)}")


async def _communicate(socket: Socket, program: Program, stdin: bytes) -> Completed:
    """Send and receive concurrently: a program may write before it has read all input."""
    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(_send(socket, stdin)) if stdin else None
            completed = await _receive(socket, program)
            if sending is not None:
                sending.cancel()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return completed


async def _send(socket: Socket, stdin: bytes) -> None:
    for start in range(0, len(stdin), _CHUNK_BYTES):
        await socket.send(bytes([_STDIN]) + stdin[start : start + _CHUNK_BYTES])
    await socket.send(bytes([_CLOSE, _STDIN]))


async def _receive(socket: Socket, program: Program) -> Completed:
    output = {_STDOUT: bytearray(), _STDERR: bytearray()}
    while (message := await socket.receive()) is not None:
        channel, content = message[0], message[1:]
        if channel in output:
            output[channel] += content
        elif channel == _STATUS:
            code = exit_code(msgspec.json.decode(content))
            return Completed(code, bytes(output[_STDOUT]), bytes(output[_STDERR]))
    raise errors.Unreachable(f"connection closed before the exit code of {program} arrived")


def exit_code(status: Mapping[str, Any]) -> int:
    """The exit code of a program that ran; raise ApiError if it was not started."""
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        for cause in (status.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
    raise errors.from_status(int(status.get("code") or 500), msgspec.json.encode(status))
