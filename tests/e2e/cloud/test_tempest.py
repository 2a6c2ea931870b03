"""Tempest against the cloud."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.support.cloud import Cloud

SOURCE = Path(__file__).parent / "agents/run_tempest.py"
EXCLUDED = {
    "tempest.scenario.test_network_basic_ops": "logs in to servers by ssh; the tiny guest has none",
}
"""Excluded tests with the reason."""
MINIMUM_SMOKE = 89
"""Smoke tests that pass without Kubernetes with the same releases."""


def run(cloud: Cloud, *patterns: str) -> dict[str, list[str]]:
    output = cloud.python(SOURCE.read_text(), json.dumps(list(EXCLUDED)), *patterns)
    found: dict[str, list[str]] = json.loads(output.splitlines()[-1])
    return found


def counts(found: dict[str, list[str]]) -> str:
    return ", ".join(f"{len(names)} {result}" for result, names in found.items())


def test_identity_api(cloud: Cloud, report: Callable[[str], None]) -> None:
    found = run(cloud, r"^tempest\.api\.identity")
    report(f"Tempest, identity: {counts(found)}")
    assert found["failed"] == found["lost"] == []
    assert len(found["passed"]) >= 130


def test_smoke(cloud: Cloud, report: Callable[[str], None]) -> None:
    found = run(cloud, r"\[.*\bsmoke\b.*\]")
    report(f"Tempest, smoke: {counts(found)}")
    assert found["failed"] == found["lost"] == []
    assert len(found["passed"]) >= MINIMUM_SMOKE - len(EXCLUDED)
