"""Programs that agents start: the image's own, with arguments that are ours."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

Word = str | Path


def run(*command: Word) -> None:
    """Run a program whose messages go to the container's log; end with it if it fails."""
    done = subprocess.run(_words(command), check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{command[0]} failed with exit code {done.returncode}; its messages are above")


def output(*command: Word) -> str:
    """What a program prints; raise CalledProcessError with its messages if it fails."""
    done = subprocess.run(_words(command), check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


def attempt(*command: Word, timeout: float | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a program that may fail; raise TimeoutExpired if it takes longer than `timeout`."""
    return subprocess.run(  # noqa: S603
        _words(command), check=False, capture_output=True, text=True, timeout=timeout
    )


def become(*command: Word) -> NoReturn:
    """Replace this process by a program, so that signals reach it."""
    words = _words(command)
    os.execvp(words[0], words)  # noqa: S606


def _words(command: Sequence[Word]) -> list[str]:
    return [str(word) for word in command]
