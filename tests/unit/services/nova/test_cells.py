import json
from typing import Any

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, SECRET
from cobaltcore.engine.definition import Facts
from cobaltcore.services.nova.steps import cells
from tests.support import openstack, planning


def wanted(facts: Facts) -> dict[str, Any]:
    """What the program that prepares databases is told."""
    found: dict[str, Any] = json.loads(cells.migration(facts)[-1])
    return found


def test_no_password_is_in_a_command() -> None:
    text = " ".join(cells.migration(planning.facts(planning.an_object("Nova"))))
    assert openstack.PRIVATE not in text
    assert "p%2F%2B%3Drivate" not in text
    assert "{scheme}://{username}:{password}@{hostname}:{port}/nova_cell0?{query}" in text


def test_several_brokers_are_numbered() -> None:
    hosts = ["rabbitmq-0:5672", "rabbitmq-1:5672"]
    messaging = {"hosts": hosts, "secretRef": {"name": "x"}, "virtualHost": "/"}
    (cell,) = wanted(planning.facts(planning.an_object("Nova", messaging=messaging)))["cells"]
    assert cell["transport"] == (
        "{scheme}://{username1}:{password1}@{hostname1}:{port1},"
        "{username2}:{password2}@{hostname2}:{port2}/"
    )


def test_the_database_of_another_cell_is_migrated_with_its_own_address() -> None:
    nova = planning.an_object("Nova", cells=[{"name": "one"}, {"name": "far-away"}])
    facts = planning.facts(planning.with_given_database(nova))
    first, second = wanted(facts)["cells"]
    assert first["variable"] == ""
    secrets = planning.of_kind(planning.everything(facts), SECRET)
    assert second["variable"] in secrets["nova-preparation-environment"]["data"]


def test_the_status_counts_the_hypervisors_of_each_cell() -> None:
    agents = {
        "metadata": {"name": "nova-compute", "namespace": "openstack", "generation": 1},
        "status": {"numberReady": 42, "observedGeneration": 1},
    }
    facts = planning.facts(planning.an_object("Nova"), (DAEMON_SET, agents))
    assert cells.mapped(facts).status == {
        "cells": [{"name": "cell1", "status": "Ready", "computeNodes": 42}]
    }
