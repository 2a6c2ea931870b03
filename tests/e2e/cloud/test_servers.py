"""Servers on two nodes, their volumes and live migration."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cloud import DEMO, Cloud, pinging

PEER = "peer"
FROM_VOLUME = "from-volume"
MESSAGE = "ping answered"


@pytest.fixture
def script(cloud: Cloud, tmp_path: Path) -> Path:
    """User data that pings the server `demo`."""
    address = cloud.address(DEMO)
    found = tmp_path / "user-data"
    found.write_text(
        f"#!/bin/sh\nuntil ping -c 1 -W 1 {address}; do sleep 1; done\necho {MESSAGE}\n"
    )
    return found


@pytest.fixture
def peer(cloud: Cloud, script: Path) -> Iterator[str]:
    """A server on the other hypervisor than `demo`."""
    listed = cloud.get("compute", "service", "list", "--service", "nova-compute")
    nodes = {each["Host"] for each in listed}
    (other,) = nodes - {cloud.host(DEMO)}
    cloud.run(
        "--os-compute-api-version", "2.74", "server", "create", "--flavor", DEMO, "--image", DEMO,
        "--network", DEMO, "--security-group", DEMO, "--host", other, "--user-data", str(script),
        "--wait", PEER,
    )  # fmt: skip
    yield PEER
    cloud.remove("server", PEER)


def test_servers_on_two_nodes_reach_each_other(cloud: Cloud, peer: str) -> None:
    assert cloud.host(peer) != cloud.host(DEMO)
    assert cloud.wait_for_console(peer, MESSAGE)


def test_a_volume_is_attached_written_and_detached(cloud: Cloud) -> None:
    cloud.run("volume", "create", "--size", "1", "scratch")
    cloud.wait_for_status("volume", "scratch", "available")
    cloud.run("server", "add", "volume", DEMO, "scratch")
    assert "written by i-" in cloud.wait_for_console(DEMO, "guest: disk vdb: written by")
    cloud.run("server", "remove", "volume", DEMO, "scratch")
    cloud.wait_for_status("volume", "scratch", "available")
    cloud.remove("volume", "scratch")


def test_a_server_boots_from_a_volume(cloud: Cloud) -> None:
    try:
        cloud.run(
            "server", "create", "--flavor", DEMO, "--image", DEMO, "--boot-from-volume", "1",
            "--network", DEMO, "--security-group", DEMO, "--wait", FROM_VOLUME,
        )  # fmt: skip
        assert cloud.wait_for_console(FROM_VOLUME, "guest: ready")
        attached = cloud.get("server", "show", FROM_VOLUME)["volumes_attached"]
        assert len(attached) == 1
    finally:
        cloud.remove("server", FROM_VOLUME)
    for each in cloud.get("volume", "list"):
        cloud.remove("volume", each["ID"])


def test_live_migration_to_the_other_node(
    cloud: Cloud, tmp_path: Path, report: Callable[[str], None]
) -> None:
    before = cloud.host(DEMO)
    booted = cloud.console(DEMO).count("guest: booted")
    with cloud.external_host() as external:
        with pinging(external, cloud.floating(), tmp_path) as pings:
            cloud.run("server", "migrate", "--live-migration", "--wait", DEMO)
        assert external.pings(cloud.floating(), count=3)
    report(f"live migration: {pings.lost} of {pings.sent} pings lost, 10 per second")
    assert cloud.host(DEMO) != before
    assert cloud.get("server", "show", DEMO)["status"] == "ACTIVE"
    assert cloud.console(DEMO).count("guest: booted") <= booted
