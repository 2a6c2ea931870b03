"""One lab for all end-to-end tests, with a name and addresses of its own. Needs root."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltimages import store
from tests.support import built_images
from tests.support.lab import Lab


@pytest.fixture(scope="session", autouse=True)
def root_user() -> None:
    if os.geteuid():
        pytest.fail("end-to-end tests start real nodes and need root", pytrace=False)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running lab of three nodes; tests that stop or break it bring it back."""
    found = Lab(tmp_path_factory.mktemp("labs"))
    try:
        found.up("--images", str(found.images))
        found.load_image()
        yield found
    finally:
        found.remove()


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> store.Store:
    """A store with every image of this source tree, for the tests alone."""
    return built_images.everything(tmp_path_factory.mktemp("store"))


@pytest.fixture
def other_lab(tmp_path: Path) -> Iterator[Lab]:
    """A lab that is not started yet, for tests of starting and stopping."""
    found = Lab(tmp_path)
    try:
        yield found
    finally:
        found.remove()


@pytest.fixture
def namespace(lab: Lab) -> Iterator[str]:
    """A namespace for this test alone."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    lab.kubectl("create", "namespace", name)
    yield name
    lab.kubectl("delete", "namespace", name, "--wait=false")
