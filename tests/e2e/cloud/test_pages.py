"""Commands of pages, typed in a lab line by line: each does what it is there for, or fails the test."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cloud import NAMESPACE, Cloud, raw_disk
from tests.support.lab import Lab

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
ENDLESS = ("--watch", "--follow")
THERE_ARE_CHANGES = 2
COBALT = f"""#!/bin/sh
verb=$1
shift
exec {sys.executable} -m cobaltcore.cli.main "$verb" --name "$LAB" "$@"
"""


@pytest.fixture
def shell(lab: Lab, tmp_path: Path) -> dict[str, str]:
    """The environment of a user whose lab is the default one, with the files that pages name."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "cobalt").write_text(COBALT)
    (programs / "cobalt").chmod(0o755)
    (programs / "kubectl").symlink_to(lab.state_dir.programs / "kubectl")
    here = tmp_path / "here"
    here.mkdir()
    raw_disk(here / "disk.raw")
    plane = lab.get("controlplane", "lab", "-n", NAMESPACE)
    wanted = {key: plane[key] for key in ("apiVersion", "kind", "spec")}
    wanted["metadata"] = {"name": "lab", "namespace": NAMESPACE}
    (here / "controlplane.yaml").write_text(json.dumps(wanted))
    (here / "production.kubeconfig").write_bytes(lab.state_dir.kubeconfig.read_bytes())
    return {
        **lab.environment,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": str(lab.state_dir.kubeconfig),
        "HOME": str(tmp_path),
        "LAB": lab.name,
        "PWD": str(here),
    }


@pytest.mark.parametrize("page", ["access.md", "operations.md"])
def test_commands_of_a_page_succeed(cloud: Cloud, shell: dict[str, str], page: str) -> None:
    lines = [
        line for block in BLOCK.findall((DOCS / page).read_text()) for line in block.split("\n")
    ]
    wanted = [each for each in lines if each and not any(word in each for word in ENDLESS)]
    assert len(wanted) > 8
    failed = []
    for line in wanted:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            env=shell, cwd=shell["PWD"], capture_output=True, text=True, check=False,
        )  # fmt: skip
        allowed = (0, THERE_ARE_CHANGES) if " plan " in line else (0,)
        if done.returncode not in allowed:
            failed.append(f"{line}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    assert not failed, "\n".join(failed)
    if page == "operations.md":
        here = Path(shell["PWD"]) / "backup"
        assert "CREATE TABLE `instances`" in (here / "databases.sql").read_text(errors="replace")
        assert "keystone-fernet-keys" in (here / "secrets.yaml").read_text()
