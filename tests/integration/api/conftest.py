"""What the tests of our kinds against a real API server share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support import objects
from tests.support.control_plane import ControlPlaneHarness, HttpError

Create = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="session")
def api_namespace(installed_crds: ControlPlaneHarness) -> str:
    """A namespace for objects that are refused or removed again."""
    return installed_crds.create_namespace("api")


@pytest.fixture
def create(installed_crds: ControlPlaneHarness) -> Iterator[Create]:
    """Create objects, strictly, in namespaces that are created as needed; removed after the test."""
    created = []

    def create(obj: dict[str, Any]) -> dict[str, Any]:
        _ensure_namespace(installed_crds, obj["metadata"].get("namespace"))
        target = f"{objects.collection(obj)}?fieldValidation=Strict"
        stored = installed_crds.request("POST", target, obj)
        created.append(objects.path(stored))
        return stored

    yield create
    for path in created:
        installed_crds.request("DELETE", path)


def _ensure_namespace(plane: ControlPlaneHarness, name: str | None) -> None:
    if name is None:
        return
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        plane.request("POST", "/api/v1/namespaces", namespace)
    except HttpError as error:
        if error.status != 409:
            raise
