"""A sample of Tempest against the cloud, without logins, which take long; `make e2e-tempest` runs the rest."""

from collections.abc import Callable

from tests.support import tempest
from tests.support.cloud import Cloud

SMOKE = r"^(?!tempest\.scenario\.test_network_basic_ops\.).*\[.*\bsmoke\b.*\]"
"""Smoke tests, but for one that logs in to servers."""
MINIMUM_SMOKE = 88
"""Those that pass without Kubernetes with the same releases."""


def test_identity_api(cloud: Cloud, report: Callable[[str], None]) -> None:
    found = tempest.run(cloud, tempest.SLICES["identity"], login=False)
    report(f"Tempest, identity: {found.counts()}")
    assert not found.failed()
    assert found.count("passed") >= 130


def test_smoke(cloud: Cloud, report: Callable[[str], None]) -> None:
    found = tempest.run(cloud, SMOKE, login=False)
    report(f"Tempest, smoke: {found.counts()}")
    assert not found.failed()
    assert found.count("passed") >= MINIMUM_SMOKE
