"""Everything that reaches a terminal: data on stdout, the rest on stderr."""

import shutil
import sys
from typing import Any

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
    """Tell something that is not the result."""
    print(text, file=sys.stderr)


def draw(text: str) -> None:
    """Write a part of a line to the terminal, for progress that is rewritten in place."""
    print(text, end="", file=sys.stderr, flush=True)


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
