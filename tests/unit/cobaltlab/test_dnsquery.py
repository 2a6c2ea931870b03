import socket
import struct
import threading
from collections.abc import Callable
from ipaddress import IPv4Address

import pytest

from cobaltlab import dnsquery

Answer = Callable[[bytes], bytes]


def ask(answer: Answer) -> bool:
    """Ask a server on loopback that gives this answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]

        def serve() -> None:
            question, client = server.recvfrom(512)
            server.sendto(answer(question), client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            return dnsquery.resolves(
                "a.example", server=IPv4Address("127.0.0.1"), port=port, timeout=30
            )
        finally:
            thread.join(60)


def reply(question: bytes, *, flags: int = 0x8180, answers: int = 1, identity: int = 0) -> bytes:
    number = struct.unpack(">H", question[:2])[0] ^ identity
    return struct.pack(">HHHHHH", number, flags, 1, answers, 0, 0) + question[12:]


def test_a_valid_answer_counts() -> None:
    questions: list[bytes] = []

    def answer(question: bytes) -> bytes:
        questions.append(question)
        return reply(question)

    assert ask(answer)
    assert questions[0][12:] == b"\x01a\x07example\x00\x00\x01\x00\x01"


@pytest.mark.parametrize(
    "broken", [{"flags": 0x8183}, {"answers": 0}, {"identity": 1}], ids=lambda value: str(value)
)
def test_failures_and_answers_to_other_queries_do_not_count(broken: dict[str, int]) -> None:
    assert not ask(lambda question: reply(question, **broken))


def test_a_short_answer_does_not_count() -> None:
    assert not ask(lambda question: b"x")
