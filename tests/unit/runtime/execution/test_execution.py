"""A program in a container, over a simulated WebSocket."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from cobaltcore.runtime import errors, execution
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.execution import Completed
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.transport import Request, Response, Socket

POD = Key("rook-ceph", "mon")
SUCCESS = b'\x03{"status":"Success"}'


@dataclass
class SimulatedSocket:
    """Sends its messages; with `after_input` only after it has received all input."""

    lines: Sequence[bytes]
    after_input: bool = False
    received: list[bytes] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, message: bytes) -> None:
        self.received.append(message)
        if message == b"\xff\x00":
            self.ended.set()

    async def receive(self) -> bytes | None:
        if self.after_input:
            await self.ended.wait()
        if not self.lines:
            return None
        line, *self.lines = self.lines
        if line == b"hang":
            await asyncio.Event().wait()
        return line


@dataclass
class SimulatedTransport:
    socket: SimulatedSocket
    requests: list[Request] = field(default_factory=list)

    @asynccontextmanager
    async def websocket(self, request: Request, *, protocol: str) -> AsyncIterator[Socket]:
        assert protocol == "v5.channel.k8s.io"
        self.requests.append(request)
        yield self.socket

    async def send(self, request: Request) -> Response:
        raise AssertionError("only WebSockets are simulated here")

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("only WebSockets are simulated here")

    async def close(self) -> None:
        return


def failure(**fields: object) -> bytes:
    return b"\x03" + msgspec.json.encode({"status": "Failure", **fields})


async def test_output_is_collected_by_channel() -> None:
    wire = SimulatedTransport(SimulatedSocket([b"\x01one ", b"\x02oops", b"\x01two", SUCCESS]))
    found = await Client(wire).execute(POD, ["ceph", "osd tree"], container="mon")
    assert found == Completed(0, b"one two", b"oops")
    url = urlsplit(wire.requests[0].path)
    assert url.path == "/api/v1/namespaces/rook-ceph/pods/mon/exec"
    assert parse_qsl(url.query) == [
        ("command", "ceph"),
        ("command", "osd tree"),
        ("container", "mon"),
        ("stdout", "true"),
        ("stderr", "true"),
    ]


async def test_input_is_sent_in_pieces_and_ended() -> None:
    socket = SimulatedSocket([SUCCESS], after_input=True)
    await Client(SimulatedTransport(socket)).execute(POD, ["cat"], stdin=b"x" * 40_000)
    assert socket.received[-1] == b"\xff\x00"
    assert all(message[0] == 0 for message in socket.received[:-1])
    assert b"".join(message[1:] for message in socket.received[:-1]) == b"x" * 40_000


async def test_an_exit_code_is_no_error() -> None:
    causes = [{"reason": "ExitCode", "message": "3"}]
    line = failure(reason="NonZeroExitCode", details={"causes": causes})
    found = await Client(SimulatedTransport(SimulatedSocket([line]))).execute(POD, ["false"])
    assert found.code == 3


async def test_a_program_that_cannot_start_is_an_error() -> None:
    line = failure(reason="InternalError", message="no such file", code=500)
    with pytest.raises(errors.ServerError, match="no such file"):
        await Client(SimulatedTransport(SimulatedSocket([line]))).execute(POD, ["nope"])


async def test_a_lost_connection_is_an_error() -> None:
    with pytest.raises(errors.Unreachable, match="closed before the exit code"):
        await Client(SimulatedTransport(SimulatedSocket([b"\x01half"]))).execute(POD, ["cat"])


async def test_a_program_that_does_not_exit_times_out() -> None:
    wire = SimulatedTransport(SimulatedSocket([b"hang"]))
    with pytest.raises(errors.Unreachable, match="sleep in pod rook-ceph/mon did not exit"):
        await Client(wire).execute(POD, ["sleep"], within=timedelta(milliseconds=10))


def test_output_is_not_shown() -> None:
    assert "key" not in repr(execution.Completed(0, b"a key"))
