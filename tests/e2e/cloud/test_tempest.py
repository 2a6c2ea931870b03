"""OpenStack's own tests against the cloud."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.support.cloud import Cloud

SOURCE = Path(__file__).parent / "inside/run_tempest.py"
EXCLUDED = {
    "tempest.scenario.test_network_basic_ops": "logs in to servers by ssh; the tiny guest has none",
}
"""Tests that cannot work here, each with the reason."""
KNOWN_FLOOR = 89
"""Smoke tests that pass on plain processes with the same releases."""


def run(cloud: Cloud, *patterns: str) -> dict[str, list[str]]:
    said = cloud.python(SOURCE.read_text(), json.dumps(list(EXCLUDED)), *patterns)
    found: dict[str, list[str]] = json.loads(said.splitlines()[-1])
    return found


def counts(found: dict[str, list[str]]) -> str:
    return ", ".join(f"{len(names)} {result}" for result, names in found.items())


def test_identity_is_whole(cloud: Cloud, tell: Callable[[str], None]) -> None:
    found = run(cloud, r"^tempest\.api\.identity")
    tell(f"Tempest, identity: {counts(found)}")
    assert found["failed"] == found["lost"] == []
    assert len(found["passed"]) >= 130


def test_smoke(cloud: Cloud, tell: Callable[[str], None]) -> None:
    found = run(cloud, r"\[.*\bsmoke\b.*\]")
    tell(f"Tempest, smoke: {counts(found)}")
    assert found["failed"] == found["lost"] == []
    assert len(found["passed"]) >= KNOWN_FLOOR - len(EXCLUDED)
