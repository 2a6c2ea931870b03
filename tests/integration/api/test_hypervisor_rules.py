"""Rules about changes of a Hypervisor, which need an existing object."""

from typing import Any

import pytest

from tests.support.control_plane import ControlPlaneHarness, HttpError

PATH = "/apis/hypervisor.c5c3.io/v1/hypervisors"


@pytest.fixture
def terminating(installed_crds: ControlPlaneHarness) -> dict[str, Any]:
    """A hypervisor whose node is going for good."""
    return installed_crds.request(
        "POST",
        PATH,
        {
            "apiVersion": "hypervisor.c5c3.io/v1",
            "kind": "Hypervisor",
            "metadata": {"generateName": "going-"},
            "spec": {"maintenance": "termination"},
        },
    )


def _changed(
    plane: ControlPlaneHarness, hypervisor: dict[str, Any], **spec: Any
) -> dict[str, Any]:
    path = f"{PATH}/{hypervisor['metadata']['name']}"
    body = {**hypervisor, "spec": {**hypervisor["spec"], **spec}}
    return plane.request("PUT", path, body)


@pytest.mark.parametrize("spec", [{"skipTests": True}, {"maintenance": ""}, {"version": "1"}])
def test_terminating_hypervisor_refuses_changes(
    installed_crds: ControlPlaneHarness, terminating: dict[str, Any], spec: dict[str, Any]
) -> None:
    with pytest.raises(HttpError, match="maintenance: nothing can change") as refused:
        _changed(installed_crds, terminating, **spec)

    assert refused.value.status == 422


def test_terminating_hypervisor_can_be_taken_over_by_high_availability(
    installed_crds: ControlPlaneHarness, terminating: dict[str, Any]
) -> None:
    changed = _changed(installed_crds, terminating, maintenance="ha")

    assert changed["spec"]["maintenance"] == "ha"


def test_labels_of_a_terminating_hypervisor_can_change(
    installed_crds: ControlPlaneHarness, terminating: dict[str, Any]
) -> None:
    metadata = {**terminating["metadata"], "labels": {"rack": "7"}}

    changed = _changed(installed_crds, {**terminating, "metadata": metadata})

    assert changed["metadata"]["labels"] == {"rack": "7"}
