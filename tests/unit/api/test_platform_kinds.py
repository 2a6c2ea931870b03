"""Kinds of the platform: OVS, hypervisors, Ceph arbiters and Cortex."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cobaltcore.api import base
from cobaltcore.api.cortex import Cortex
from cobaltcore.api.hypervisor import Hypervisor, HypervisorSpec
from cobaltcore.api.ovs import OVSNode

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SEEDS = Path(__file__).resolve().parents[4] / "shared" / "seeds"
GROUPS = {"ovs.c5c3.io", "hypervisor.c5c3.io", "ceph.c5c3.io", "cortex.c5c3.io"}
NAMESPACED = {"OVSNode", "Migration", "RemoteCluster", "RemoteArbiter", "Cortex"}
CLUSTER_WIDE = {
    "Hypervisor", "Eviction", "Datasource", "Knowledge", "KPI", "Pipeline", "Decision",
    "Descheduling", "Reservation",
}  # fmt: skip


def platform_kinds() -> dict[str, base.Definition]:
    return {d.kind.kind: d for d in base.definitions() if d.kind.group in GROUPS}


def is_within(part: Any, whole: Any) -> bool:
    """Whether everything in `part` is in `whole` with the same value."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and is_within(value, whole[key]) for key, value in part.items()
        )
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(is_within, part, whole))
    return bool(part == whole)


def test_scope_of_every_kind() -> None:
    kinds = platform_kinds()

    assert {name for name, d in kinds.items() if d.kind.namespaced} == NAMESPACED
    assert {name for name, d in kinds.items() if not d.kind.namespaced} == CLUSTER_WIDE


def test_short_names_are_unique_and_not_those_of_kubernetes() -> None:
    taken = {"ds", "rc", "rs", "po", "no", "ns", "sa", "svc", "ep", "cm", "pv", "pvc", "ev"}
    short = [name for d in base.definitions() for name in d.short_names]

    assert len(short) == len(set(short))
    assert not taken & set(short)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"overcommit": {"cpu": 0.5}}, "overcommit"),
        ({"customTraits": ["NVME"]}, "customTraits"),
        ({"version": "a b"}, "version"),
        ({"maintenance": "later"}, "maintenance"),
    ],
)
def test_reading_a_hypervisor_refuses_what_the_schema_refuses(
    spec: dict[str, Any], path: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf"\$\.{path}"):
        msgspec.convert(spec, HypervisorSpec)


def test_hypervisor_defaults_keep_a_node_in_managed_service() -> None:
    spec = msgspec.convert({}, HypervisorSpec)

    assert spec.lifecycle_enabled
    assert spec.high_availability
    assert spec.evacuate_on_reboot
    assert spec.install_certificate
    assert not (spec.reboot)
    assert not (spec.skip_tests)
    assert not (spec.create_cert_manager_certificate)
    assert spec.maintenance == ""


def test_hypervisor_status_has_the_wire_names_of_the_agents() -> None:
    status = {
        "libVirtVersion": "9.0.0",
        "operatingSystem": {"variantID": "kvm", "gardenLinuxCommitID": "abc"},
        "capabilities": {"cpuArch": "x86_64", "memory": "1Ti", "cpus": "128"},
        "domainCapabilities": {"supportedCpuModes": ["mode/host-passthrough"]},
        "cells": [{"cellID": 0, "capacity": {"cpu": "64"}}],
        "internalIp": "10.0.0.1",
        "numInstances": 2,
    }
    hypervisor = msgspec.convert({"spec": {}, "status": status}, Hypervisor)

    assert msgspec.to_builtins(hypervisor)["status"] == status


def test_ovs_status_has_the_wire_names_of_the_agent() -> None:
    status = {
        "ovsdVersion": "8.3.1",
        "dpdkEnabled": False,
        "bridges": [{"name": "br-int", "ports": 12, "flows": 340, "datapathType": "system"}],
        "ovnController": {"connected": True, "sbConnection": "ssl:sb:6642", "chassisId": "a"},
        "flowStats": {"totalFlows": 340, "flowsPerTable": [{"table": 1, "flows": 340}]},
    }
    node = msgspec.convert({"spec": {"nodeRef": {"name": "a"}}, "status": status}, OVSNode)

    assert msgspec.to_builtins(node)["status"] == status


def cortex_documents() -> list[dict[str, Any]]:
    """The example, and the document that it follows where that is checked out next to the project."""
    texts = [(EXAMPLES / "cortex.yaml").read_text()]
    for seed in SEEDS.glob("*.txt"):
        blocks = seed.read_text().split("```")
        texts += [b.removeprefix("yaml\n") for b in blocks if "\nkind: Cortex\n" in b]
    return [yaml.safe_load(text) for text in texts]


@pytest.mark.parametrize("document", cortex_documents())
def test_cortex_reads_weights_and_the_credential_by_its_own_name(document: dict[str, Any]) -> None:
    cortex = msgspec.convert(document, Cortex)

    assert cortex.spec.keystone.app_credential_ref.secret == "cortex-app-credential-secret"
    assert cortex.spec.pipelines is not None
    assert cortex.spec.pipelines.nova is not None
    assert [w.name for w in cortex.spec.pipelines.nova.weighers] == ["RAMWeigher", "CPUWeigher"]
    assert cortex.spec.pipelines.nova.weighers[0].weight == 1.0
    assert is_within(msgspec.to_builtins(cortex), document)
