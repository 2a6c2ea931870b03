"""The one way in which the lab runs a program to its end and captures its output.

Standard library only.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cobaltlab import kernel


def run(
    arguments: Sequence[str | Path],
    *,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program, by default without the user's environment; the exit code is the caller's to read.

    Raises OSError if it cannot be started and subprocess.TimeoutExpired after `timeout` seconds.
    """
    return subprocess.run(  # noqa: S603 no shell, arguments come from our code
        [str(each) for each in arguments],
        input=stdin,
        text=True,
        errors="replace",
        capture_output=True,
        check=False,
        env=kernel.service_environment() if environment is None else environment,
        timeout=timeout,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The line that most likely names the reason of a failure."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}, no output"
