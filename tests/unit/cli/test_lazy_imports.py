"""A process of one operator imports neither the others nor large packages that it does not need."""

import subprocess
import sys
from functools import cache

import pytest

from cobaltcore.engine import registry

SHOW_MODULES = """
import sys
from cobaltcore.cli.commands import run
from cobaltcore.engine.operator import Context
from cobaltcore.runtime import offline

(chosen,) = run.choose([sys.argv[1]])
list(chosen.controllers(Context(offline.cluster(), "test")))
print("\\n".join(sys.modules))
"""


@cache
def imported(operator: str) -> set[str]:
    command = [sys.executable, "-c", SHOW_MODULES, operator]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("package", ["cobaltlab", "cobaltimages", "aiohttp", "cryptography"])
def test_keystone_needs_no(package: str) -> None:
    assert package not in imported("keystone")


def test_keystone_imports_no_other_service_or_operator() -> None:
    folders = {
        name.split(".")[2]
        for name in imported("keystone")
        if name.startswith(("cobaltcore.services.", "cobaltcore.operators."))
    }
    assert folders == {"keystone"}


def test_every_operator_is_found_by_its_name() -> None:
    for each in registry.operators():
        found = registry.find(each.name)
        assert found is not None
        assert found.name == each.name


@pytest.mark.parametrize("name", ["", "nothing", "keystone.config", "../keystone", "controlplane"])
def test_what_is_no_operator_is_not_found(name: str) -> None:
    assert registry.find(name) is None
