import subprocess
import sys
from pathlib import Path

import pytest

from tools import generate

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_tree_is_up_to_date() -> None:
    assert generate.differences(generate.outputs(), root=ROOT) == []


def test_another_process_writes_the_same(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools/generate.py"), "--root", str(tmp_path)]
    subprocess.run(command, check=True, env={"PYTHONHASHSEED": "7"})
    assert generate.differences(generate.outputs(), root=tmp_path) == []


def test_written_tree_passes_the_check(tmp_path: Path) -> None:
    assert generate.main(["--root", str(tmp_path)]) == 0
    assert generate.main(["--root", str(tmp_path), "--check"]) == 0


def test_check_names_what_differs_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate.main(["--root", str(tmp_path)])
    crds = tmp_path / generate.CRDS
    (crds / "keystones.keystone.openstack.c5c3.io.yaml").write_text("changed by hand")
    (crds / "novas.nova.openstack.c5c3.io.yaml").unlink()
    (crds / "old.example.com.yaml").write_text("left over")
    assert generate.main(["--root", str(tmp_path), "--check"]) == 1
    shown = capsys.readouterr().err
    assert "keystones.keystone.openstack.c5c3.io.yaml is out of date" in shown
    assert "novas.nova.openstack.c5c3.io.yaml is missing" in shown
    assert "old.example.com.yaml is not generated from anything" in shown
    assert "make crds docs" in shown
    assert (crds / "old.example.com.yaml").exists()


def test_writing_repairs_and_removes(tmp_path: Path) -> None:
    crds = tmp_path / generate.CRDS
    crds.mkdir(parents=True)
    (crds / "old.example.com.yaml").write_text("left over")
    generate.main(["--root", str(tmp_path)])
    assert not (crds / "old.example.com.yaml").exists()
    assert generate.main(["--root", str(tmp_path), "--check"]) == 0
