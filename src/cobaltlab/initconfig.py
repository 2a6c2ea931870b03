"""Configuration of a node's init (node.json): written by `cobalt up`, read by PID 1 of the node.

Standard library only.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A program in a node: restarted whenever it ends, or run once.

    It starts after conditions: `unix:PATH` and `tcp:HOST:PORT` hold when a process listens there,
    `done:NAME` when a program that runs once has exited with 0.
    """

    name: str
    command: list[str]
    after: list[str] = field(default_factory=list)
    once: bool = False
    keeps_data: bool = False
    """Whether it gets SIGTERM instead of SIGKILL when the node stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitConfig:
    """One node: its directory, mounts, network, files and daemons."""

    name: str
    number: int
    directory: str
    bind_mounts: list[str]
    """Directories of the host that are mounted over the private ones of the node."""
    network: list[str]
    files: Mapping[str, str]
    """Files under /etc that differ from the host's."""
    daemons: list[Daemon]
    programs: str = ""
    """ID of the Kubernetes build; another one restarts the node."""

    @property
    def logs(self) -> Path:
        return Path(self.directory) / "log"


def encode(config: InitConfig) -> str:
    return json.dumps(asdict(config), indent=1, sort_keys=True)


def decode(text: str) -> InitConfig:
    fields: dict[str, Any] = json.loads(text)
    daemons = [Daemon(**each) for each in fields.pop("daemons")]
    return InitConfig(**fields, daemons=daemons)


def number(text: str) -> int:
    """The node's number; readable also if another release wrote the file."""
    return int(json.loads(text)["number"])
