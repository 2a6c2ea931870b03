"""What a node is made of, as data: written by `cobalt up`, carried out by the node's first process.

Standard library only.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A program that runs in a node, again and again, or once if that is enough.

    It waits for its gates: `unix:PATH` and `tcp:HOST:PORT` open when somebody listens,
    `done:NAME` when a program that runs once has succeeded.
    """

    name: str
    command: list[str]
    after: list[str] = field(default_factory=list)
    once: bool = False
    keeps_data: bool = False
    """Whether it is asked to end, and not killed, when the node stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node: where its files are, what is private to it, and what runs in it."""

    name: str
    number: int
    directory: str
    carried: list[str]
    """Directories of the host that stay visible where a private one covers them."""
    network: list[str]
    files: Mapping[str, str]
    """Files under /etc that differ from the host's."""
    daemons: list[Daemon]
    programs: str = ""
    """Which build of the programs it is for; another one restarts the node."""

    @property
    def logs(self) -> Path:
        """Where every daemon has its log file."""
        return Path(self.directory) / "log"


def encode(node: Node) -> str:
    """Write a node down."""
    return json.dumps(asdict(node), indent=1, sort_keys=True)


def decode(text: str) -> Node:
    """Read what `encode` wrote."""
    fields: dict[str, Any] = json.loads(text)
    daemons = [Daemon(**each) for each in fields.pop("daemons")]
    return Node(**fields, daemons=daemons)
