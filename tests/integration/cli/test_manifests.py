"""`cobalt manifests` against a real API server, as docs/install.md has it."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cobaltcore.cli import main
from cobaltcore.deploy import operators
from tests.support.control_plane import ControlPlaneHarness

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def bare() -> Iterator[ControlPlaneHarness]:
    """An API server without our CRDs."""
    with ControlPlaneHarness() as plane:
        yield plane


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main.main(["manifests", *arguments]) == 0
    return capsys.readouterr().out


def test_every_printed_object_is_accepted(
    bare: ControlPlaneHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys)
    applied = bare.kubectl("apply", "-f", "-", input=text).splitlines()
    assert len(applied) == len(list(yaml.safe_load_all(text)))


def test_operators_of_one_namespace_are_accepted(
    bare: ControlPlaneHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    team = bare.create_namespace("team")
    arguments = ("--watch-namespace", team, "--namespace", team, "--no-crds")
    text = printed(capsys, *arguments, "--image", "r.example/c:1")
    bare.kubectl("apply", "--server-side", "-f", "-", input=text)
    roles = bare.kubectl("get", "roles", "-n", team, "-o", "name").splitlines()
    assert "role.rbac.authorization.k8s.io/cobalt:operator:keystone" in roles


def test_namespace_and_image_are_those_of_the_options(
    bare: ControlPlaneHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "--namespace", "cloud", "--image", "r.example/c:1", "--no-crds")
    found = list(yaml.safe_load_all(text))
    assert "CustomResourceDefinition" not in {each["kind"] for each in found}
    bare.kubectl("apply", "--server-side", "-f", "-", input=text)
    image = "{.spec.template.spec.containers[0].image}"
    shown = bare.kubectl(
        "get", "deployment", "-n", "cloud", "cobalt-keystone", "-o", f"jsonpath={image}"
    )
    assert shown == "r.example/c:1"


def test_documented_command_installs_the_operators(
    bare: ControlPlaneHarness, tmp_path: Path
) -> None:
    page = (ROOT / "docs/install.md").read_text()
    command = re.search(r"^cobalt manifests \| .*$", page, re.MULTILINE)
    assert command
    environment = {
        "PATH": f"{bare.programs}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "KUBECONFIG": str(bare.kubeconfig()),
        "HOME": str(tmp_path),
    }
    subprocess.run(command[0], shell=True, check=True, env=environment, timeout=120)
    assert "cobalt-keystone" in bare.kubectl("get", "deployments", "-n", operators.NAMESPACE)
