from cobaltcore.api.foreign.kubernetes import DAEMON_SET
from cobaltcore.engine.definition import Facts
from cobaltcore.services.nova.steps import cells
from tests.support import openstack, planning


def script(facts: Facts) -> str:
    (job,) = cells.mapped(facts).objects
    command = job.body["spec"]["template"]["spec"]["containers"][0]["command"]
    return str(command[-1])


def test_no_password_is_in_a_command() -> None:
    facts = planning.facts(planning.an_object("Nova"))
    text = script(facts) + " ".join(facts.service.migration(facts.spec))
    assert openstack.PRIVATE not in text
    assert "p%2F%2B%3Drivate" not in text
    assert "{scheme}://{username}:{password}@{hostname}:{port}/nova_cell0?{query}" in text


def test_a_cell_is_made_unless_nova_knows_it() -> None:
    text = script(planning.facts(planning.an_object("Nova")))
    assert "grep -q '^|  *cell1  *|' || nova-manage cell_v2 create_cell --name cell1" in text


def test_several_brokers_are_numbered() -> None:
    hosts = ["rabbitmq-0:5672", "rabbitmq-1:5672"]
    messaging = {"hosts": hosts, "secretRef": {"name": "x"}, "virtualHost": "/"}
    text = script(planning.facts(planning.an_object("Nova", messaging=messaging)))
    assert (
        "{scheme}://{username1}:{password1}@{hostname1}:{port1},"
        "{username2}:{password2}@{hostname2}:{port2}/'" in text
    )


def test_the_database_of_another_cell_is_migrated_with_its_own_address() -> None:
    nova = planning.an_object("Nova", cells=[{"name": "one"}, {"name": "far-away"}])
    text = script(planning.facts(nova))
    assert 'OS_DATABASE__CONNECTION="$FAR_AWAY_DATABASE" nova-manage db sync --local_cell' in text


def test_the_status_counts_the_hypervisors_of_each_cell() -> None:
    agents = {
        "metadata": {"name": "nova-compute", "namespace": "openstack", "generation": 1},
        "status": {"numberReady": 42, "observedGeneration": 1},
    }
    facts = planning.facts(planning.an_object("Nova"), (DAEMON_SET, agents))
    assert cells.mapped(facts).status == {
        "cells": [{"name": "cell1", "status": "CellsInProgress", "computeNodes": 42}]
    }
