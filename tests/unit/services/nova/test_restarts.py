"""Which changes restart nova-compute: those of what it reads, and no others."""

import re
from typing import Any

import pytest

from cobaltcore.api import cinder
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, SECRET
from cobaltcore.runtime.meta import Desired, Kind, Object
from tests.support import planning

CACHE = {"servers": ["memcached-0:11211", "memcached-1:11211"]}


def everything(*others: tuple[Kind, Object], **changes: Any) -> list[Desired]:
    obj = planning.with_external_database(planning.an_object("Nova", **changes))
    return planning.everything(planning.scope(obj, *others))


def template(found: list[Desired], kind: Kind, name: str) -> Any:
    """What the pods of a workload are made of; another one restarts them."""
    return planning.of_kind(found, kind)[name]["spec"]["template"]


UNCHANGED: dict[str, Any] = {
    "cells": [{"name": "one"}],
    "extraConfig": {},
    "policyOverrides": None,
}
BEFORE = everything(**UNCHANGED)


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": [{"name": "one"}, {"name": "two"}]},
        {"extraConfig": {"scheduler": {"workers": "2"}}},
        {"extraConfig": {"filter_scheduler": {"ram_weight_multiplier": "2"}}},
        {"extraConfig": {"DEFAULT": {"osapi_compute_workers": "2"}}},
        {"policyOverrides": {"rules": {"os_compute_api:servers:index": "role:admin"}}},
        {"cache": CACHE},
        {"api": {"replicas": 5}},
        {"scheduler": {"externalScheduler": {"enabled": True, "endpoint": "https://cortex"}}},
        {"metadata": {"replicas": 2}},
    ],
    ids=str,
)
def test_what_nova_compute_does_not_read_does_not_restart_it(changes: dict[str, Any]) -> None:
    after = everything(**{**UNCHANGED, **changes})
    assert template(after, DAEMON_SET, "nova-compute") == template(
        BEFORE, DAEMON_SET, "nova-compute"
    )


def test_cinder_restarts_the_sync_of_keys_alone() -> None:
    after = everything((cinder.KIND, planning.an_object("Cinder")), **UNCHANGED)
    changed = {
        name: template(BEFORE, DAEMON_SET, name) != template(after, DAEMON_SET, name)
        for name in ("nova-compute", "nova-libvirt-secrets")
    }
    assert changed == {"nova-compute": False, "nova-libvirt-secrets": True}


@pytest.mark.parametrize(
    "changes",
    [
        {"extraConfig": {"DEFAULT": {"cpu_allocation_ratio": "2.0"}}},
        {"extraConfig": {"libvirt": {"cpu_mode": "host-passthrough"}}},
        {"policyOverrides": {"rules": {"network:attach_external_network": "role:admin"}}},
        {"policyOverrides": {"rules": {"admin_api": "role:cloud_admin"}}},
        {"compute": {"virtualization": "qemu"}},
    ],
    ids=str,
)
def test_what_nova_compute_reads_restarts_it(changes: dict[str, Any]) -> None:
    after = everything(**{**UNCHANGED, **changes})
    assert template(after, DAEMON_SET, "nova-compute") != template(
        BEFORE, DAEMON_SET, "nova-compute"
    )


def test_an_option_of_the_scheduler_still_restarts_the_scheduler() -> None:
    changed = everything(**{**UNCHANGED, "extraConfig": {"scheduler": {"workers": "2"}}})
    assert template(changed, DEPLOYMENT, "nova-scheduler") != template(
        BEFORE, DEPLOYMENT, "nova-scheduler"
    )


def test_hypervisors_are_restarted_one_by_one() -> None:
    strategy = planning.of_kind(BEFORE, DAEMON_SET)["nova-compute"]["spec"]["updateStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}


def test_nova_compute_knows_the_broker_of_its_own_cell_only() -> None:
    found = planning.of_kind(everything(cells=[{"name": "one"}, {"name": "two"}]), SECRET)
    urls = {
        name: planning.secret_texts(Desired(SECRET, dict(found[f"nova-{name}-secret-options"])))
        for name in ("compute", "compute-two")
    }
    brokers = {
        name: re.findall(r'"rabbit://.*/(.*)"', each["secrets.conf"])
        for name, each in urls.items()
    }
    assert brokers == {"compute": ["nova"], "compute-two": ["nova-two"]}
