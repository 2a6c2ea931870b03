"""OVN from nothing to Ready: real API server and controllers, pods and hypervisors are simulated."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Any

import pytest

from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DAEMON_SET,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    STATEFUL_SET,
)
from cobaltcore.api.ovn import CHASSIS, CLUSTER, TUNNEL_ADDRESS, UPLINKS
from cobaltcore.engine.context import Context
from cobaltcore.engine.podpolicy import PodPolicy
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.operators.ovn.planner import OVNPlanner
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Key, Object, WatchScope, key_of
from cobaltcore.runtime.transport import Transport
from tests.support import simulated_ovn, simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read
from tests.support.rights import as_operator
from tests.support.services import Serving, serving
from tests.support.simulated_ovn import Databases

AGENT = "service-operator"
ALLOWED = "tests.c5c3.io/ovn"


def label(space: str) -> str:
    """What the hypervisors of one test are known by: nodes are everybody's."""
    return f"tests.c5c3.io/{space}"


def a_cluster(space: str, **spec: Any) -> Object:
    selector = {"nodeSelector": {label(space): "", ALLOWED: ""}}
    return {
        "apiVersion": CLUSTER.api_version,
        "kind": "OVNCluster",
        "metadata": {"name": "ovn", "namespace": space},
        "spec": {
            "ovnImage": {"repository": "ghcr.io/c5c3/ovn", "tag": "25.03.0"},
            "ovsImage": {"repository": "ghcr.io/c5c3/ovs", "tag": "3.5.0"},
            "northbound": {"replicas": 1},
            "southbound": {"replicas": 1},
            "northd": {"replicas": 1},
            "controller": selector,
            "ovs": selector,
            **spec,
        },
    }


async def a_hypervisor(client: Client, space: str, number: int) -> str:
    name = f"{space}-{number}"
    meta = {
        "name": name,
        "labels": {label(space): "", ALLOWED: "", "kubernetes.io/hostname": name, "type": "kwok"},
        "annotations": {TUNNEL_ADDRESS: f"10.0.1.{number}/24", UPLINKS: "eth2"},
    }
    await client.create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": meta})
    return name


async def volumes(client: Client, space: str, *, servers: int = 1) -> None:
    for database in ("northbound", "southbound"):
        for number in range(servers):
            await simulated_volumes.bind(client, Key(space, f"data-ovn-{database}-{number}"))


def permitting(context: Context) -> Context:
    """Nodes of these tests are not labelled as hypervisors: those are for tests of Nova."""
    return replace(context, pods=PodPolicy(node_labels=(ALLOWED,)))


def with_account(plane: ControlPlaneHarness) -> Transport:
    """With the account of the OVN operator."""
    return as_operator(plane, "service-operator", "ovn")


def controllers(ovn: Databases) -> Any:
    def controllers(context: Context) -> Iterable[Controller]:
        return [Reconciler(OVNPlanner(route=ovn.route), permitting(context)).controller]

    return controllers


def is_ready(client: Client, space: str) -> Any:
    async def check() -> bool:
        found = await client.get(CLUSTER, Key(space, "ovn"))
        reported = found.get("status") or {}
        ready = [c["status"] for c in reported.get("conditions", []) if c["type"] == "Ready"]
        return (
            ready == ["True"] and reported["observedGeneration"] == found["metadata"]["generation"]
        )

    return check


async def message(client: Client, space: str) -> str:
    found = await client.get(CLUSTER, Key(space, "ovn"))
    reported = (found.get("status") or {}).get("conditions", [])
    return next((c.get("message", "") for c in reported if c["type"] == "Ready"), "")


async def rests(running: Serving) -> None:
    await eventually(running.rests, "the operator rests")


@pytest.fixture
async def ovn() -> AsyncIterator[Databases]:
    async with simulated_ovn.databases() as found:
        yield found


@pytest.fixture
async def hypervisors(client: Client, space: str, ovn: Databases) -> AsyncIterator[list[str]]:
    names = [await a_hypervisor(client, space, number) for number in (1, 2)]
    ovn.chassis |= {name: f"10.0.1.{number}" for number, name in enumerate(names, 1)}
    yield names
    for name in names:
        await client.delete(NODE, Key("", name))


async def test_ovn_comes_up_with_the_status_of_its_kind_and_then_rests(
    plane: ControlPlaneHarness,
    client: Client,
    space: str,
    ovn: Databases,
    hypervisors: list[str],
) -> None:
    await volumes(client, space)
    await client.create(CLUSTER, a_cluster(space))
    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)) as running:
        await eventually(is_ready(client, space), "OVN is Ready", seconds=120)
        status = (await client.get(CLUSTER, Key(space, "ovn")))["status"]
        assert [(c["type"], c["status"]) for c in status["conditions"]] == [
            ("Ready", "True"),
            ("NorthboundReady", "True"),
            ("SouthboundReady", "True"),
            ("ControllersReady", "True"),
        ]
        assert {name: status[name] for name in status if name != "conditions"} == {
            "observedGeneration": 1,
            "endpoints": {
                "northbound": f"tcp:ovn-nb.{space}.svc.cluster.local:6641",
                "southbound": f"tcp:ovn-sb.{space}.svc.cluster.local:6642",
            },
            "chassisCount": 2,
            "activeControllers": 2,
        }
        await rests(running)
        mark, number = plane.mark(), ovn.number
        for each in running.controllers:
            each.queue.add(Key(space, "ovn"))
        await rests(running)
        assert plane.audit(since=mark, agent=AGENT) == []
        # Later reconciles ask hypervisors again, and what they answer is not worth a write.
        ovn.confirmed |= {name: moment - 40_000 for name, moment in ovn.confirmed.items()}
        for each in running.controllers:
            each.queue.add(Key(space, "ovn"))

        async def called() -> bool:
            return ovn.number > number

        await eventually(called, "hypervisors are called")
        await rests(running)
        assert plane.audit(since=mark, agent=AGENT) == []


async def test_chassis_gets_uplinks_and_its_own_bridge_mappings(
    plane: ControlPlaneHarness,
    client: Client,
    space: str,
    ovn: Databases,
    hypervisors: list[str],
) -> None:
    await volumes(client, space)
    mappings = [{"physicalNetwork": "external", "bridge": "br-external"}]
    await client.create(
        CLUSTER,
        a_cluster(
            space,
            controller={
                "nodeSelector": {label(space): "", ALLOWED: ""},
                "bridgeMappings": mappings,
            },
        ),
    )
    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)):
        await eventually(is_ready(client, space), "OVN is Ready", seconds=120)
        name = hypervisors[0]
        found = await client.get(CHASSIS, Key(space, name))
        node = await client.get(NODE, Key("", name))
        (owner,) = found["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Node", node["metadata"]["uid"])
        assert found["spec"] == {
            "hostname": name,
            "systemId": name,
            "encapsulation": {"type": "geneve", "ip": "10.0.1.1"},
        }
        status = found["status"]
        assert [(c["type"], c["status"]) for c in status["conditions"]] == [
            ("Ready", "True"),
            ("OVSConnected", "True"),
        ]
        assert status["registeredAt"]
        assert status["lastHeartbeat"]
        reported = await client.get(CONFIG_MAP, Key(space, "ovn-chassis"))
        assert '"uplinks":{"br-external":"eth2"}' in reported["data"][f"{name}.json"]

        own = [{"physicalNetwork": "provider", "bridge": "br-provider"}]
        await client.patch(CHASSIS, Key(space, name), {"spec": {"bridgeMappings": own}})

        async def has_own_mapping() -> bool:
            reported = await client.get(CONFIG_MAP, Key(space, "ovn-chassis"))
            return "br-provider" in reported["data"][f"{name}.json"]

        await eventually(has_own_mapping, "the hypervisor has its own mapping")


async def test_a_hypervisor_that_is_silent_or_gone_is_reported(
    plane: ControlPlaneHarness,
    client: Client,
    space: str,
    ovn: Databases,
    hypervisors: list[str],
) -> None:
    await volumes(client, space)
    await client.create(CLUSTER, a_cluster(space))
    lost, other = hypervisors

    async def reason() -> str:
        found = await client.get(CHASSIS, Key(space, lost))
        return str(found["status"]["conditions"][1]["reason"])

    async def is_lost() -> bool:
        return await reason() == "HeartbeatLost"

    async def is_gone() -> bool:
        return await reason() == "NotRegistered"

    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)) as running:
        await eventually(is_ready(client, space), "OVN is Ready", seconds=120)
        ovn.silent.add(lost)
        ovn.confirmed[lost] -= 120_000
        running.controllers[0].queue.add(Key(space, "ovn"))
        await eventually(is_lost, "the missing heartbeat is reported")
        wanted = f"1/2 hypervisors registered and alive; missing: '{lost}'"

        async def is_named() -> bool:
            return wanted in await message(client, space)

        await eventually(is_named, "the cluster names the hypervisor")
        reported = await client.get(CLUSTER, Key(space, "ovn"))
        assert (reported["status"]["chassisCount"], reported["status"]["activeControllers"]) == (
            2,
            1,
        )
        address = ovn.chassis.pop(lost)
        await eventually(is_gone, "the missing row is reported")
        ovn.chassis[lost] = address
        ovn.silent.clear()
        await eventually(is_ready(client, space), "OVN is Ready again")

        await client.delete(NODE, Key("", lost))

        async def is_drained() -> bool:
            return await read(client, CHASSIS, Key(space, lost)) is None

        await eventually(is_drained, "the object is deleted with the Node")
        assert ovn.removed == [lost]
        await eventually(is_ready(client, space), "OVN is Ready with the rest")
        assert await read(client, CHASSIS, Key(space, other))


async def test_a_hypervisor_is_taken_out_when_its_controller_has_ended(
    plane: ControlPlaneHarness, client: Client, space: str, ovn: Databases, hypervisors: list[str]
) -> None:
    leaving = hypervisors[1]
    await volumes(client, space)
    await client.create(CLUSTER, a_cluster(space))

    async def pod() -> Object:
        selector = "app.kubernetes.io/component=controller"
        async for page, _ in client.list_pages(POD, WatchScope(space, selector)):
            for each in page:
                if each["spec"].get("nodeName") == leaving:
                    return each
        return {}

    async def is_ending() -> bool:
        return bool((await pod())["metadata"].get("deletionTimestamp"))

    async def is_drained() -> bool:
        return await read(client, CHASSIS, Key(space, leaving)) is None

    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)) as running:
        await eventually(is_ready(client, space), "OVN is Ready", seconds=120)
        held = key_of(await pod())
        await client.patch(POD, held, {"metadata": {"finalizers": ["c5c3.io/test"]}})
        no_role = {"metadata": {"labels": {label(space): None}}}
        await client.patch(NODE, Key("", leaving), no_role)
        await eventually(is_ending, "the pod is about to end")
        await rests(running)
        assert ovn.removed == []
        assert not await is_drained()
        await client.patch(POD, held, {"metadata": {"finalizers": []}})
        await eventually(is_drained, "the object is deleted after the pod")
        assert ovn.removed == [leaving]


async def test_what_is_missing_is_named(
    plane: ControlPlaneHarness, client: Client, space: str, ovn: Databases
) -> None:
    tls = {"enabled": True, "certSecretRef": {"name": "ovn-tls-certs"}}
    await client.create(CLUSTER, a_cluster(space, tls=tls))
    await volumes(client, space)

    async def is_named() -> bool:
        wanted = "certificate: Secret 'ovn-tls-certs' (tls.certSecretRef) does not exist"
        return await message(client, space) == wanted

    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)):
        await eventually(is_named, "the Secret is named")
        data = {"tls.crt": "a", "tls.key": "b", "ca.crt": "c"}
        meta = {"name": "ovn-tls-certs", "namespace": space}
        await client.create(
            SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": data}
        )
        await eventually(is_ready(client, space), "OVN is Ready", seconds=120)
        found = await client.get(CLUSTER, Key(space, "ovn"))
        address = f"ssl:ovn-sb.{space}.svc.cluster.local:6642"
        assert found["status"]["endpoints"]["southbound"] == address


async def test_ca_is_created_when_the_spec_has_no_issuer(
    plane: ControlPlaneHarness, client: Client, space: str, ovn: Databases
) -> None:
    await client.create(CLUSTER, a_cluster(space, tls={"enabled": True}))

    async def is_issued() -> bool:
        present = [
            await read(client, certmanager.ISSUER, Key(space, name))
            for name in ("ovn-self-signed", "ovn-ca")
        ]
        present += [
            await read(client, certmanager.CERTIFICATE, Key(space, name))
            for name in ("ovn-ca", "ovn-tls")
        ]
        return all(present)

    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)):
        await eventually(is_issued, "issuers and certificates are created")
        found = await client.get(certmanager.CERTIFICATE, Key(space, "ovn-tls"))
        assert found["spec"]["issuerRef"] == {"name": "ovn-ca", "kind": "Issuer"}
        assert {"server auth", "client auth"} <= set(found["spec"]["usages"])


async def test_two_networks_do_not_share_a_node(
    plane: ControlPlaneHarness,
    client: Client,
    space: str,
    ovn: Databases,
    hypervisors: list[str],
) -> None:
    await volumes(client, space)
    await client.create(CLUSTER, a_cluster(space))
    second = plane.create_namespace("engine")
    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)):
        await eventually(is_ready(client, space), "the first OVN is Ready", seconds=120)
        # Times of creation have seconds.
        await asyncio.sleep(1.1)
        selector = {"nodeSelector": {label(space): "", ALLOWED: ""}}
        await volumes(client, second)
        await client.create(CLUSTER, a_cluster(second, controller=selector, ovs=selector))
        wanted = f"node '{hypervisors[0]}' belongs to OVNCluster '{space}/ovn'"

        async def is_named() -> bool:
            return wanted in await message(client, second)

        await eventually(is_named, "the owner of the node is named", seconds=120)
        assert await read(client, DAEMON_SET, Key(second, "ovn-openvswitch")) is None
        assert await is_ready(client, space)()


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_data_stays_unless_the_policy_is_delete(
    plane: ControlPlaneHarness,
    client: Client,
    space: str,
    ovn: Databases,
    policy: str,
) -> None:
    await volumes(client, space)
    await client.create(CLUSTER, a_cluster(space, deletionPolicy=policy))
    claim = Key(space, "data-ovn-northbound-0")

    async def is_gone() -> bool:
        left = await read(client, STATEFUL_SET, Key(space, "ovn-northbound"))
        return left is None and await read(client, CLUSTER, Key(space, "ovn")) is None

    async def is_owned() -> bool:
        found = await client.get(PERSISTENT_VOLUME_CLAIM, claim)
        return bool(found["metadata"].get("ownerReferences"))

    async def is_terminating() -> bool:
        found = await read(client, PERSISTENT_VOLUME_CLAIM, claim)
        return found is None or bool(found["metadata"].get("deletionTimestamp"))

    async with serving(plane, [], wire=with_account(plane), others=controllers(ovn)):
        await eventually(is_ready(client, space), "OVN is Ready", seconds=120)
        if policy == "Delete":
            await eventually(is_owned, "the claim belongs to the servers")
        await client.delete(CLUSTER, Key(space, "ovn"))
        await eventually(is_gone, "everything is gone")
        if policy == "Delete":
            await eventually(is_terminating, "the claim is deleted, too")
        else:
            assert not await is_terminating()
            assert "DataKept" in plane.kubectl("get", "events", "-n", space)
