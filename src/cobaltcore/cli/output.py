"""Everything that reaches a terminal: data on stdout, the rest on stderr."""

import os
import select
import shutil
import sys
from contextlib import suppress
from typing import Any, TextIO

import msgspec


def data(text: str) -> None:
    """Print a result, for people or for the next program in a pipe."""
    print(text)


def as_json(value: Any) -> None:
    """Print a result for machines."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def json_line(value: Any) -> None:
    """Print one record of a stream for machines."""
    print(msgspec.json.encode(value).decode(), flush=True)


def note(text: str) -> None:
    """Print a message that is not the result."""
    print(text, file=sys.stderr)


def draw(text: str) -> None:
    """Write a part of a line to the terminal, for progress in place."""
    print(text, end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Empty the screen."""
    print("\x1b[2J\x1b[H", end="")


def is_reader_gone() -> bool:
    """Whether the reader of the output has closed it, as `head` does; then nothing is written."""
    gone = [stream for stream in (sys.stdout, sys.stderr) if _is_broken(stream)]
    for stream in gone:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    return bool(gone)


def _is_broken(stream: TextIO) -> bool:
    """Whether a pipe has no reader; polled, because there may be nothing left to write."""
    with suppress(BrokenPipeError):
        stream.flush()
    try:
        poll = select.poll()
        poll.register(stream, 0)
    except (OSError, ValueError):  # no file behind it, or closed
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size().columns


def table(header: list[str], rows: list[list[str]]) -> None:
    """Print rows in columns, as kubectl does."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("   ".join(cells).rstrip())
