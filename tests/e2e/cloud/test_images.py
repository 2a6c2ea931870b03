"""Images of servers and volumes, and what was cloned from images."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cloud import DEMO, Cloud, raw_disk

SLOW_UPLOAD = Path(__file__).parent / "agents/slow_upload.py"
LONGER_THAN_A_SOCKET_WAITS = "6"
Removal = Callable[[str, str], None]


@pytest.fixture
def removed_later(cloud: Cloud) -> Iterator[Removal]:
    """Register objects that are deleted after the test if they exist, the last one first."""
    found: list[tuple[str, str]] = []
    yield lambda kind, name: found.append((kind, name))
    for kind, name in reversed(found):
        if name in {each["Name"] for each in cloud.get(kind, "list")}:
            cloud.remove(kind, name)


def test_a_server_boots_from_the_snapshot_of_another(cloud: Cloud, removed_later: Removal) -> None:
    removed_later("image", "snapshot")
    cloud.run("server", "image", "create", "--name", "snapshot", "--wait", DEMO)
    image = cloud.get("image", "show", "snapshot")
    assert image["status"] == "active"
    location = image["properties"]["direct_url"]
    assert "/images/" in location, "the image is in the pool of images"
    removed_later("server", "from-snapshot")
    cloud.run(
        "server", "create", "--flavor", DEMO, "--image", "snapshot", "--network", DEMO,
        "--security-group", DEMO, "--wait", "from-snapshot",
    )  # fmt: skip
    assert cloud.wait_for_console("from-snapshot", "guest: ready")


def test_a_volume_becomes_an_image(cloud: Cloud, removed_later: Removal) -> None:
    removed_later("volume", "source")
    cloud.run("volume", "create", "--size", "1", "source")
    cloud.wait_for_status("volume", "source", "available")
    removed_later("image", "from-volume")
    cloud.run("image", "create", "--volume", "source", "from-volume")
    cloud.wait_for_status("image", "from-volume", "active")
    assert cloud.get("image", "show", "from-volume")["size"] == 1 << 30


def test_an_image_is_deleted_while_a_volume_that_was_cloned_from_it_lives(
    cloud: Cloud, removed_later: Removal, tmp_path: Path
) -> None:
    removed_later("image", "parent")
    cloud.run("image", "create", *raw_disk(tmp_path / "disk.raw"), "parent")
    cloud.wait_for_status("image", "parent", "active")
    removed_later("volume", "clone")
    cloud.run("volume", "create", "--image", "parent", "--size", "1", "clone")
    cloud.wait_for_status("volume", "clone", "available")
    cloud.run("image", "delete", "parent")
    assert "parent" not in {each["Name"] for each in cloud.get("image", "list")}
    assert cloud.get("volume", "show", "clone")["status"] == "available"


def test_an_upload_may_pause_between_its_parts(cloud: Cloud, removed_later: Removal) -> None:
    removed_later("image", "slow")
    found = cloud.python(SLOW_UPLOAD.read_text(), "slow", LONGER_THAN_A_SOCKET_WAITS)
    image = json.loads(found.splitlines()[-1])
    assert image["size"] == image["sent"]


def test_definitions_of_metadata_are_loaded(cloud: Cloud) -> None:
    listed = cloud.get("image", "metadef", "namespace", "list")
    assert "OS::Compute::Hypervisor" in {each["namespace"] for each in listed}
