"""Slices of Tempest, each whole: `make e2e-tempest SLICES="image volume"`.

Results are kept for each commit of the source tree, so an interrupted run continues where it ended. Delete
the folder to repeat tests.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import tempest
from tests.support.cloud import Cloud

ROOT = Path(__file__).parents[3]
WANTED = os.environ.get("COBALT_TEMPEST_SLICES", "").split() or list(tempest.SLICES)


@pytest.fixture(scope="session")
def kept() -> Path:
    """The folder with the results of this commit."""
    describe = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False)
    found = ROOT / ".cache/tempest" / (done.stdout.strip() or "unknown")
    found.mkdir(parents=True, exist_ok=True)
    return found


@pytest.mark.parametrize("name", WANTED)
def test_slice(cloud: Cloud, name: str, kept: Path, report: Callable[[str], None]) -> None:
    assert name in tempest.SLICES, f'no slice "{name}"; there are: {", ".join(tempest.SLICES)}'
    file = kept / f"{name}.jsonl"
    found = tempest.run(cloud, tempest.SLICES[name], file=file)
    report(f"Tempest, {name}: {found.counts()}, results in {file}")
    assert not found.failed()
    assert found.count("passed")
