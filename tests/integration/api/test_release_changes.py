"""Which release may follow which: the API server and the Python model agree.

The rule is tried on a copy of ControlPlane that accepts any release: the kind itself accepts those
that there are images of.
"""

import copy
from typing import Any

import pytest

from cobaltcore.api import crd, release
from cobaltcore.api.controlplane import ControlPlane
from tests.support import objects
from tests.support.control_plane import ControlPlaneHarness, HttpError

KIND, PLURAL = "AnyRelease", "anyreleases"
RELEASES = ["2024.1", "2024.2", "2025.1", "2025.2", "2026.1", "2026.2", "2027.1"]


@pytest.fixture(scope="module")
def any_release(installed_crds: ControlPlaneHarness) -> ControlPlaneHarness:
    """The API server with the copy."""
    manifest = copy.deepcopy(crd.manifest(ControlPlane.definition))
    spec = manifest["spec"]
    manifest["metadata"]["name"] = f"{PLURAL}.{spec['group']}"
    spec["names"] = {
        "kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": KIND.lower()
    }  # fmt: skip
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["openStackRelease"]["enum"]
    installed_crds.install_crds([manifest])
    return installed_crds


def collection(namespace: str) -> str:
    return f"/apis/c5c3.io/v1alpha1/namespaces/{namespace}/{PLURAL}"


def path(obj: dict[str, Any]) -> str:
    return f"{collection(obj['metadata']['namespace'])}/{obj['metadata']['name']}"


def created(plane: ControlPlaneHarness, namespace: str, *, at: str) -> dict[str, Any]:
    obj = {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": KIND,
        "metadata": {"generateName": "moving-", "namespace": namespace},
        "spec": {"openStackRelease": at},
    }
    return plane.request("POST", collection(namespace), obj)


def is_accepted(plane: ControlPlaneHarness, obj: dict[str, Any], *, to: str) -> bool:
    changed = objects.changed(obj, {"spec.openStackRelease": to})
    try:
        plane.request("PUT", f"{path(obj)}?dryRun=All", changed)
    except HttpError as error:
        if "openStackRelease: may be raised by one release" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("installed", RELEASES)
def test_release_may_move_as_the_model_allows(
    any_release: ControlPlaneHarness, api_namespace: str, installed: str
) -> None:
    plane = created(any_release, api_namespace, at=installed)
    accepted = [each for each in RELEASES if is_accepted(any_release, plane, to=each)]
    old = release.parse(installed)
    assert accepted == [each for each in RELEASES if release.parse(each).may_follow(old)]


def test_upgrade_under_way_may_go_back_to_the_installed_release(
    any_release: ControlPlaneHarness, api_namespace: str
) -> None:
    plane = created(any_release, api_namespace, at="2025.2")
    status = {"conditions": [], "installedRelease": "2025.2"}
    plane = any_release.request("PUT", f"{path(plane)}/status", plane | {"status": status})
    upgrading = objects.changed(plane, {"spec.openStackRelease": "2026.1"})
    upgrading = any_release.request("PUT", path(plane), upgrading)
    assert is_accepted(any_release, upgrading, to="2025.2")
    assert not is_accepted(any_release, upgrading, to="2025.1")
