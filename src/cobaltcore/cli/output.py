"""Everything that reaches a terminal: data on stdout, the rest on stderr."""

import sys
from typing import Any

import msgspec


def data(text: str) -> None:
    """Print a result, for people or for the next program in a pipe."""
    print(text)


def as_json(value: Any) -> None:
    """Print a result for machines."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def note(text: str) -> None:
    """Tell something that is not the result."""
    print(text, file=sys.stderr)


def table(header: list[str], rows: list[list[str]]) -> None:
    """Print rows in columns, as kubectl does."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("   ".join(cells).rstrip())
