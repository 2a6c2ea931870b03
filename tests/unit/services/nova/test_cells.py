import json
from typing import Any, cast

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, NODE, SECRET
from cobaltcore.api.nova import CellStatus, NovaSpec
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.runtime.meta import Desired, Kind, Object
from cobaltcore.services.nova.steps import cells, hypervisor
from tests.support import openstack, planning


def wanted(scope: ServiceScope[NovaSpec]) -> dict[str, Any]:
    """The input of the program that prepares databases."""
    found: dict[str, Any] = json.loads(cells.migration(scope)[-1])
    return found


def test_no_password_is_in_a_command() -> None:
    text = " ".join(cells.migration(planning.scope(planning.an_object("Nova"))))
    assert openstack.PRIVATE not in text
    assert "p%2F%2B%3Drivate" not in text
    assert "{scheme}://{username}:{password}@{hostname}:{port}/nova_cell0?{query}" in text


def test_several_brokers_are_numbered() -> None:
    hosts = ["rabbitmq-0:5672", "rabbitmq-1:5672"]
    messaging = {"hosts": hosts, "secretRef": {"name": "x"}, "virtualHost": "/"}
    (cell,) = wanted(planning.scope(planning.an_object("Nova", messaging=messaging)))["cells"]
    assert cell["transport"] == (
        "{scheme}://{username1}:{password1}@{hostname1}:{port1},"
        "{username2}:{password2}@{hostname2}:{port2}/"
    )


def test_the_database_of_another_cell_is_migrated_with_its_own_address() -> None:
    nova = planning.an_object("Nova", cells=[{"name": "one"}, {"name": "far-away"}])
    scope = planning.scope(planning.with_external_database(nova))
    first, second = wanted(scope)["cells"]
    assert first["file"] == ""
    assert second["file"] == "/etc/nova-databases/far-away.conf"
    secrets = planning.of_kind(planning.everything(scope), SECRET)
    found = secrets["nova-preparation-nova-databases"]
    text = planning.secret_texts(Desired(SECRET, dict(found)))["far-away.conf"]
    address = planning.parsed(text)["database"]["connection"]
    assert address.endswith("@db.example:3306/nova_far_away?charset=utf8")


def reported(scope: ServiceScope[NovaSpec]) -> list[CellStatus]:
    return cast("list[CellStatus]", cells.mapped(scope).status["cells"])


def test_the_status_counts_the_hypervisors_of_each_cell() -> None:
    agents = {
        "metadata": {"name": "nova-compute", "namespace": "openstack", "generation": 1},
        "status": {"numberReady": 42, "observedGeneration": 1},
    }
    scope = planning.scope(planning.an_object("Nova"), (DAEMON_SET, agents))
    (cell,) = reported(scope)
    assert (cell.name, cell.compute_nodes) == ("cell1", 42)


def rollout(name: str, spec: dict[str, int], **status: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "openstack", "generation": 1},
        "spec": spec,
        "status": {**status, "observedGeneration": 1},
    }


def test_a_cell_is_ready_when_conductor_and_hypervisors_are() -> None:
    conductor = (DEPLOYMENT, rollout("nova-conductor", {"replicas": 1}, readyReplicas=1))
    numbers: tuple[dict[str, int], ...] = (
        {},
        {"desiredNumberScheduled": 2, "numberReady": 1},
        {"desiredNumberScheduled": 2, "numberReady": 2},
    )
    agents = [(DAEMON_SET, rollout("nova-compute", {}, **each)) for each in numbers]
    nova = planning.an_object("Nova")
    seen = [(), *((conductor, each) for each in agents)]
    assert [reported(planning.scope(nova, *each))[0].status for each in seen] == [
        "ConductorNotReady", "NoHypervisors", "HypervisorsNotReady", "Ready",
    ]  # fmt: skip


def test_a_cell_that_is_disabled_gets_no_new_servers() -> None:
    conductor = (DEPLOYMENT, rollout("nova-conductor", {"replicas": 1}, readyReplicas=1))
    agents = (DAEMON_SET, rollout("nova-compute", {}, desiredNumberScheduled=1, numberReady=1))
    nova = planning.an_object("Nova", cells=[{"name": "cell1", "enabled": False}])
    scope = planning.scope(nova, conductor, agents)
    assert reported(scope)[0].status == "Disabled"
    assert [each["enabled"] for each in wanted(scope)["cells"]] == [False]


def node(name: str, cell: str = "") -> tuple[Kind, Object]:
    labels = {"node-role.kubernetes.io/hypervisor": "", **({cells.LABEL: cell} if cell else {})}
    addresses = [{"type": "InternalIP", "address": "192.0.2.1"}]
    return NODE, {
        "metadata": {"name": name, "labels": labels},
        "status": {"addresses": addresses},
    }


def hosts(*nodes: tuple[Kind, Object]) -> tuple[list[str], str]:
    """Arguments of the Job that maps hosts, and what is reported of it."""
    nova = planning.an_object("Nova", cells=[{"name": "one"}, {"name": "two"}])
    result = hypervisor.hosts_known(planning.scope(nova, *nodes))
    commands = [
        each.body["spec"]["template"]["spec"]["containers"][0]["command"]
        for each in result.objects
    ]
    return (commands[0][3:] if commands else []), result.verdict.message


def test_hypervisors_are_mapped_to_the_cell_of_their_label_or_the_first() -> None:
    found, _ = hosts(node("c", "two"), node("b"), node("a", "one"))
    assert found == ["a=one", "b=one", "c=two"]


def test_a_hypervisor_of_no_cell_is_named() -> None:
    found, message = hosts(node("a", "three"))
    assert not found
    assert message == (
        "no hypervisor nodes; 'a' has the label nova.c5c3.io/cell=three of no cell in spec.cells"
    )


def test_a_reference_to_another_cluster_is_reported_as_not_followed() -> None:
    verdict = cells.mapped(planning.scope(planning.an_object("Nova"))).verdict
    assert "computeRef 'hypervisor-cell1' of cell 'cell1' is not followed" in verdict.message
