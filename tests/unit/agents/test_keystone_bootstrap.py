import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cobaltcore.agents.keystone import bootstrap


def test_password_of_the_file_reaches_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    program = ModuleType("keystone.cmd.manage")
    vars(program)["main"] = lambda: seen.extend([os.environ["OS_BOOTSTRAP_PASSWORD"], sys.argv])
    monkeypatch.setitem(sys.modules, "keystone.cmd.manage", program)
    monkeypatch.setenv("OS_BOOTSTRAP_PASSWORD", "")
    monkeypatch.setattr(sys, "argv", [])
    (tmp_path / "password").write_text("a word")

    bootstrap.main([str(tmp_path / "password"), "--bootstrap-region-id=one"])

    assert seen == ["a word", ["keystone-manage", "bootstrap", "--bootstrap-region-id=one"]]
