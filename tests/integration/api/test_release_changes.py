"""Which release may follow which: the API server and the Python model agree."""

from collections.abc import Callable
from typing import Any

import pytest

from cobaltcore.api import release
from tests.support import objects
from tests.support.control_plane import ControlPlaneHarness, HttpError

Create = Callable[[dict[str, Any]], dict[str, Any]]
RELEASES = ["2024.1", "2024.2", "2025.1", "2025.2", "2026.1", "2026.2", "2027.1"]


def a_control_plane(namespace: str, *, at: str) -> dict[str, Any]:
    return {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "ControlPlane",
        "metadata": {"name": "moving", "namespace": namespace},
        "spec": {"openStackRelease": at},
    }


def is_accepted(plane: ControlPlaneHarness, obj: dict[str, Any], *, to: str) -> bool:
    changed = objects.changed(obj, {"spec.openStackRelease": to})
    try:
        plane.request("PUT", f"{objects.path(obj)}?dryRun=All", changed)
    except HttpError as error:
        if "openStackRelease: may be raised by one release" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("installed", RELEASES)
def test_release_may_move_as_the_model_says(
    installed_crds: ControlPlaneHarness, create: Create, api_namespace: str, installed: str
) -> None:
    plane = create(a_control_plane(api_namespace, at=installed))
    accepted = [each for each in RELEASES if is_accepted(installed_crds, plane, to=each)]
    old = release.parse(installed)
    assert accepted == [each for each in RELEASES if release.parse(each).may_follow(old)]


def test_upgrade_under_way_may_go_back_to_the_installed_release(
    installed_crds: ControlPlaneHarness, create: Create, api_namespace: str
) -> None:
    plane = create(a_control_plane(api_namespace, at="2025.2"))
    status = {"conditions": [], "installedRelease": "2025.2"}
    plane = installed_crds.request(
        "PUT", f"{objects.path(plane)}/status", plane | {"status": status}
    )
    upgrading = objects.changed(plane, {"spec.openStackRelease": "2026.1"})
    upgrading = installed_crds.request("PUT", objects.path(plane), upgrading)
    assert is_accepted(installed_crds, upgrading, to="2025.2")
    assert not is_accepted(installed_crds, upgrading, to="2025.1")
