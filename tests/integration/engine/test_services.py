"""Services from nothing to Ready: real API server and controllers, pods simulated by KWOK."""

import pytest

from cobaltcore.engine import definitions
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from tests.support import openstack
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually
from tests.support.services import serving

AGENT = "service-operator"
COMMON = ["Ready", "DependenciesReady", "SecretsReady", "ConfigReady", "DatabaseReady"]
END = ["DeploymentReady", "APIReady"]
CONDITIONS = {
    "Placement": [*COMMON, *END],
    "Barbican": [*COMMON, "MessagingReady", *END],
    "Glance": [*COMMON, "CephConnected", "MetadataDefinitionsReady", *END],
    "Neutron": [*COMMON, "MessagingReady", "OVNConnected", *END],
    "Cinder": [*COMMON, "MessagingReady", "CephConnected", "VolumeTypesReady", *END],
    "Nova": [
        *COMMON, "MessagingReady", "CephConnected", "CellsReady", "LibvirtReady",
        "ConsoleCertificateReady", "ConductorReady",
        "SchedulerReady", "DeploymentReady", "ConsoleReady", "ComputeReady", "LibvirtSecretsReady",
        "HostsReady", "APIReady",
    ],
}  # fmt: skip
"""Every condition of a service whose endpoint speaks http, in order."""
SEEDS = {
    "Placement": {"Ready"},
    "Barbican": {"Ready"},
    "Glance": {"Ready", "DatabaseReady", "CephConnected"},
    "Neutron": {"Ready", "OVNConnected"},
    "Cinder": {"Ready", "CephConnected"},
    "Nova": {"Ready", "APIReady", "SchedulerReady", "ConductorReady"},
}
"""The conditions that the requirements show."""
PORTS = {
    "Placement": 8778,
    "Barbican": 9311,
    "Glance": 9292,
    "Neutron": 9696,
    "Nova": 8774,
    "Cinder": 8776,
}
EXAMPLES = [
    pytest.param(each, id=f"{kind.lower()}-{number}")
    for kind in CONDITIONS
    for number, each in enumerate(openstack.documents(kind))
    if "database" in each["spec"]
]


@pytest.mark.parametrize("document", EXAMPLES)
async def test_an_example_comes_up_and_then_rests(
    plane: ControlPlaneHarness, client: Client, space: str, document: Object
) -> None:
    wanted = openstack.lab_sized(document, space)
    kind, name = wanted["kind"], wanted["metadata"]["name"]
    openstack.label_nodes(plane)
    await openstack.environment(client, wanted)
    await client.create(openstack.kind_of(wanted), wanted)
    async with serving(plane, [kind.lower()]) as running:
        await eventually(openstack.is_ready(client, wanted), f"{kind} is Ready")
        reported = await openstack.conditions(client, wanted)
        assert list(reported) == _expected(wanted)
        assert set(reported) >= SEEDS[kind]
        found = await client.get(openstack.kind_of(wanted), Key(space, name))
        address = f"http://{name}.{space}.svc.cluster.local:{PORTS[kind]}"
        assert found["status"]["endpoint"] == address
        await eventually(running.rests, "the operator rests")
        mark = plane.mark()
        for each in running.controllers:
            each.queue.add(Key(space, name))
        await eventually(running.rests, "the reconciles are done")
        assert plane.audit(since=mark, agent=AGENT) == []
    _no_secret_is_reported(plane, space)


def _expected(wanted: Object) -> list[str]:
    """Without a pool there is no Ceph to be connected to, and libvirt needs no key of it."""
    uses_ceph = "cephSecretRef" in str(wanted["spec"])
    of_ceph = {"CephConnected", "LibvirtSecretsReady"}
    return [each for each in CONDITIONS[wanted["kind"]] if uses_ceph or each not in of_ceph]


def test_every_service_is_tested_here() -> None:
    tested = {*CONDITIONS, "Keystone"}
    assert {each.kind.kind for each in definitions.services()} == tested


def _no_secret_is_reported(plane: ControlPlaneHarness, space: str) -> None:
    kinds = "configmaps,deployments,daemonsets,jobs,events," + ",".join(
        each.kind.plural for each in definitions.services()
    )
    text = plane.kubectl("get", kinds, "-n", space, "-o", "yaml")
    for private in (openstack.PRIVATE, "p%2F%2B%3Drivate", openstack.CEPH_KEY):
        assert private not in text
