"""Options that a service would not accept are refused when an object is written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cobaltcore.api import controlplane, nova
from cobaltcore.engine import releases
from cobaltcore.runtime import webhook_objects
from tests.support import webhooks
from tests.support.control_plane import ControlPlaneHarness, KubectlError

EXAMPLES = Path(__file__).parents[3] / "examples"
BAD = {"DEFAULT": {"cpu_allocation_ratio": "banana"}}
CONFIGURATION = "options"


@pytest.fixture(scope="module")
def plane(
    installed_crds: ControlPlaneHarness, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlaneHarness]:
    """The API server and the operator that answers for ControlPlanes and services."""
    with webhooks.served(installed_crds, "c5c3", tmp_path_factory.mktemp("run")) as target:
        kinds = [controlplane.KIND, nova.KIND]
        configuration = webhook_objects.validating(CONFIGURATION, kinds, target)
        installed_crds.kubectl("apply", "-f", "-", input=json.dumps(configuration))
        yield installed_crds
        installed_crds.kubectl("delete", "validatingwebhookconfiguration", CONFIGURATION)


def an_object(kind: str, namespace: str, **spec: Any) -> str:
    found = next(iter(yaml.safe_load_all((EXAMPLES / f"{kind}.yaml").read_text())))
    found["metadata"]["namespace"] = namespace
    found["spec"] |= spec
    return json.dumps(found)


def test_option_of_a_service_is_refused_with_its_field(
    plane: ControlPlaneHarness, namespace: str
) -> None:
    problem = r"spec\.extraConfig\.DEFAULT\.cpu_allocation_ratio: 'banana' is not a number"
    with pytest.raises(KubectlError, match=problem):
        plane.kubectl("create", "-f", "-", input=an_object("nova", namespace, extraConfig=BAD))


def test_option_in_a_control_plane_is_refused_with_its_field(
    plane: ControlPlaneHarness, namespace: str
) -> None:
    services = {"nova": {"extraConfig": {"scheduler": {"worker": "2"}}}}
    problem = (
        r"spec\.services\.nova\.extraConfig\.scheduler\.worker: there is no such option, "
        "did you mean 'workers'"
    )
    body = an_object("controlplane", namespace, services=services)
    with pytest.raises(KubectlError, match=problem):
        plane.kubectl("create", "-f", "-", input=body)


@pytest.mark.parametrize("kind", ["nova", "controlplane"])
def test_examples_are_accepted(plane: ControlPlaneHarness, namespace: str, kind: str) -> None:
    plane.kubectl("create", "-f", "-", input=an_object(kind, namespace))
    plane.kubectl("delete", kind, "--all", "-n", namespace, "--wait=false")


def test_stored_object_can_be_changed_in_spite_of_a_bad_option(
    plane: ControlPlaneHarness, namespace: str
) -> None:
    other = {
        "repository": "registry.example/nova",
        "tag": releases.image_tag("nova", releases.newest()),
    }
    body = an_object("nova", namespace, extraConfig=BAD, image=other)
    plane.kubectl("create", "-f", "-", input=body)
    plane.kubectl("annotate", "nova", "--all", "-n", namespace, "a=b")
    patch = {"spec": {"image": {"repository": "ghcr.io/c5c3/nova"}}}
    with pytest.raises(KubectlError, match="cpu_allocation_ratio"):
        plane.kubectl(
            "patch", "nova/nova", "-n", namespace, "--type=merge", "-p", json.dumps(patch)
        )
