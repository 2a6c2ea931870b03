"""Run `keystone-manage bootstrap` with the administrator's password of a file: FILE [OPTION...].

It takes the password from its environment, which only this process sees: what is set here is not in
the environment that the process was started with, which others may read.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

PROGRAM = "keystone-manage"


def main(arguments: Sequence[str]) -> None:
    """Doing it again changes nothing but the password."""
    file, *options = arguments
    os.environ["OS_BOOTSTRAP_PASSWORD"] = Path(file).read_text()
    sys.argv = [PROGRAM, "bootstrap", *options]
    importlib.import_module("keystone.cmd.manage").main()
