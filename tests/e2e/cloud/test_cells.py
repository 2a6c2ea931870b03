"""Two cells with a server in each; hypervisors move between cells; a cell is disabled and removed."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cloud import DEMO, NAMESPACE, Cloud
from tests.support.lab import CommandFailed, Lab, eventually

SECOND = "cell2"
HYPERVISORS = ("hypervisor-1", "hypervisor-2")
MOVED = "hypervisor-2"
LABEL = "nova.c5c3.io/cell"


@pytest.fixture(scope="module", autouse=True)
def first_cell_only(lab: Lab, cloud: Cloud) -> Iterator[None]:
    """The server `demo` is on the hypervisor that stays in the first cell, also afterwards."""
    if cloud.host(DEMO) == MOVED:
        cloud.run("server", "migrate", DEMO, "--live-migration", "--wait")
    yield
    for number, _ in enumerate(HYPERVISORS, 1):
        cloud.remove("server", f"cells-{number}")
    label(lab, "")
    set_cells(cloud)


def set_cells(cloud: Cloud, *further: dict[str, Any]) -> None:
    """Give the ControlPlane the first cell and further ones."""
    listed = [{"name": "cell1"}, *further]
    cloud.change(services={"nova": {"cells": listed}})


def label(lab: Lab, cell: str) -> None:
    """Label the hypervisor that moves."""
    value = f"{LABEL}={cell}" if cell else f"{LABEL}-"
    lab.kubectl("label", "node", MOVED, "--overwrite", value)


def reported(cloud: Cloud) -> dict[str, tuple[str, int]]:
    """State and hypervisors of each cell, as soon as Nova is Ready."""
    nova = cloud.lab.get("nova", "nova", "-n", NAMESPACE)
    if not cloud.is_ready(nova):
        return {}
    listed = nova["status"]["cells"]
    return {each["name"]: (each["status"], each["computeNodes"]) for each in listed}


def wait_for_cells(cloud: Cloud, **wanted: tuple[str, int]) -> None:
    eventually(lambda: reported(cloud) == wanted, f"cells are {wanted}")


def conditions(lab: Lab) -> str:
    """Everything that Nova reports."""
    status = lab.get("nova", "nova", "-n", NAMESPACE).get("status", {})
    return " ".join(each.get("message", "") for each in status.get("conditions", ()))


def services(cloud: Cloud) -> dict[tuple[str, str], str]:
    """Programs that Nova knows, up or down; each is listed once."""
    found = cloud.get("compute", "service", "list")
    states = {(each["Binary"], each["Host"]): each["State"] for each in found}
    assert len(states) == len(found), found
    return states


def all_up(lab: Lab, cloud: Cloud, *, conductors: int) -> bool:
    states = services(cloud)
    computes = {host for binary, host in states if binary == "nova-compute"}
    number = sum(binary == "nova-conductor" for binary, _ in states)
    is_whole = computes == set(HYPERVISORS) and number == conductors
    return is_whole and set(states.values()) == {"up"}


def boot(cloud: Cloud, name: str, *where: str) -> None:
    cloud.run(
        "--os-compute-api-version", "2.74", "server", "create", "--flavor", DEMO, "--image", DEMO,
        "--network", DEMO, "--security-group", DEMO, *where, name,
    )  # fmt: skip
    cloud.wait_for_status("server", name, "active")


def test_a_hypervisor_moves_to_another_cell(lab: Lab, cloud: Cloud) -> None:
    set_cells(cloud, {"name": SECOND})
    wait_for_cells(cloud, cell1=("Ready", 2), cell2=("NoHypervisors", 0))
    label(lab, SECOND)
    wait_for_cells(cloud, cell1=("Ready", 1), cell2=("Ready", 1))
    eventually(lambda: all_up(lab, cloud, conductors=2), "all programs are up, none twice")


def test_each_cell_runs_a_server(cloud: Cloud) -> None:
    for number, host in enumerate(HYPERVISORS, 1):
        boot(cloud, f"cells-{number}", "--host", host)
        assert cloud.host(f"cells-{number}") == host
        cloud.wait_for_console(f"cells-{number}", "guest: ready")


def test_a_hypervisor_with_servers_does_not_leave_its_cell(lab: Lab, cloud: Cloud) -> None:
    label(lab, "")
    eventually(lambda: not reported(cloud), "Nova is not Ready")
    eventually(lambda: "servers" in conditions(lab) and MOVED in conditions(lab), "servers named")
    label(lab, SECOND)
    wait_for_cells(cloud, cell1=("Ready", 1), cell2=("Ready", 1))
    assert cloud.host("cells-2") == MOVED
    assert cloud.get("server", "show", "cells-2")["status"] == "ACTIVE"


def test_a_disabled_cell_gets_no_new_servers(lab: Lab, cloud: Cloud) -> None:
    set_cells(cloud, {"name": SECOND, "enabled": False})
    wait_for_cells(cloud, cell1=("Ready", 1), cell2=("Disabled", 1))
    with pytest.raises(AssertionError, match="No valid host"):
        boot(cloud, "cells-3", "--host", MOVED)
    cloud.remove("server", "cells-3")
    assert cloud.get("server", "show", "cells-2")["status"] == "ACTIVE"
    set_cells(cloud, {"name": SECOND})
    wait_for_cells(cloud, cell1=("Ready", 1), cell2=("Ready", 1))


def test_a_cell_with_servers_is_not_removed(lab: Lab, cloud: Cloud) -> None:
    set_cells(cloud)
    refusal = f"cell {SECOND} cannot be removed while it has servers"
    eventually(lambda: refusal in conditions(lab), "the servers are named")
    assert cloud.get("server", "show", "cells-2")["status"] == "ACTIVE"
    set_cells(cloud, {"name": SECOND})
    wait_for_cells(cloud, cell1=("Ready", 1), cell2=("Ready", 1))


def test_an_empty_cell_is_removed_without_a_trace(lab: Lab, cloud: Cloud) -> None:
    cloud.remove("server", "cells-2")
    label(lab, "")
    wait_for_cells(cloud, cell1=("Ready", 2), cell2=("NoHypervisors", 0))
    set_cells(cloud)
    wait_for_cells(cloud, cell1=("Ready", 2))
    eventually(lambda: all_up(lab, cloud, conductors=1), "all programs are up, none twice")
    with pytest.raises(CommandFailed):
        lab.kubectl("get", "deployment", f"nova-conductor-{SECOND}", "-n", NAMESPACE)
    boot(cloud, "cells-2", "--host", MOVED)
