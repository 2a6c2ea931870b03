"""The real Helm, built on demand, and the charts that it works with."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cobaltcore.deploy.chart import charts
from cobaltlab import kubebuild
from tests.support.control_plane import ControlPlaneHarness


@dataclass(frozen=True)
class Helm:
    """Helm with files of its own, for one cluster or none."""

    program: Path
    home: Path
    kubeconfig: Path | None = None

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        if self.kubeconfig:
            environment["KUBECONFIG"] = str(self.kubeconfig)
        return subprocess.run(
            [self.program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def __call__(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def template(self, chart: Path, values: dict[str, Any], namespace: str) -> list[Any]:
        """Objects of a chart; notes and empty documents are not among them."""
        path = self.home / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        text = self("template", "release", str(chart), "-n", namespace, "-f", str(path))
        return [each for each in yaml.safe_load_all(text) if each]


@pytest.fixture(scope="session")
def program() -> Path:
    return kubebuild.ensure(kubebuild.HELM)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every chart as a folder."""
    root = tmp_path_factory.mktemp("charts")
    for chart in charts.charts():
        for path, text in chart.files.items():
            target = root / chart.name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return root


@pytest.fixture
def helm(program: Path, tmp_path: Path) -> Helm:
    """Helm without a cluster."""
    return Helm(program, tmp_path)


@pytest.fixture
def plane() -> Iterator[ControlPlaneHarness]:
    """An API server without our CRDs."""
    with ControlPlaneHarness(controller_manager=True) as found:
        yield found


@pytest.fixture
def cluster(program: Path, tmp_path: Path, plane: ControlPlaneHarness) -> Helm:
    """Helm as administrator of a cluster."""
    return Helm(program, tmp_path, plane.kubeconfig())
