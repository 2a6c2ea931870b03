"""The commands of docs/operations.md are commands that exist, with options that exist."""

import re
import shlex
from pathlib import Path

import pytest

from cobaltcore.cli import main

PAGE = Path(__file__).parents[3] / "docs/operations.md"
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("cobalt ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_documented_command_is_understood(line: str) -> None:
    words = shlex.split(line.partition(" | ")[0].partition(" > ")[0], comments=True)[1:]
    parsed = main.parser(main.commands(words[0])).parse_args(words)
    assert parsed.command == words[0]


def test_there_are_commands_to_check() -> None:
    assert COMMANDS
