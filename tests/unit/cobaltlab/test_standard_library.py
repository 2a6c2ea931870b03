"""Programs of nodes must start fast and use little memory."""

import subprocess
import sys

import pytest

_LIST_FOREIGN = """
import importlib, sys
importlib.import_module(sys.argv[1])
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(*sorted(name for name in foreign if getattr(sys.modules.get(name), "__file__", None)))
"""


@pytest.mark.parametrize("module", ["init", "supervisor", "apiready", "registry"])
def test_programs_of_nodes_use_the_standard_library_only(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LIST_FOREIGN, f"cobaltlab.{module}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {*done.stdout.split()} <= {"cobaltcore", "cobaltimages", "cobaltlab"}
