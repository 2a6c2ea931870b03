"""What an OVNCluster becomes: pure functions, no API server."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, NODE, SERVICE, STATEFUL_SET
from cobaltcore.api.ovn import CHASSIS, CLUSTER, BridgeMapping, OVNCluster
from cobaltcore.engine.context import Context
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.verdict import Blocked, Waiting
from cobaltcore.operators.ovn import chassis, databases, hypervisors, nodes, planner, southbound
from cobaltcore.operators.ovn.southbound import Record, Records
from cobaltcore.operators.ovn.view import RECORDS, View
from cobaltcore.runtime import offline
from cobaltcore.runtime.meta import Kind, Object

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
IMAGE = {"repository": "r", "tag": "1"}


CREATED = "2026-01-01T00:00:00Z"
SOUTHBOUND_SERVICE = {"metadata": {"name": "ovn-sb"}, "spec": {"clusterIP": "10.96.0.7"}}
HYPERVISOR = {"node-role.kubernetes.io/hypervisor": ""}


def a_view(
    *objects: tuple[Kind, Object],
    records: Records | None = None,
    now: datetime = NOW,
    **spec: Any,
) -> View:
    """An OVNCluster `net/ovn`, and what else exists."""
    meta = {"name": "ovn", "namespace": "net", "generation": 1, "uid": "ovn"}
    live: Object = {
        "metadata": {**meta, "creationTimestamp": CREATED},
        "spec": {"ovnImage": IMAGE, "ovsImage": IMAGE, **spec},
    }
    everything = [*objects, (CLUSTER, live)]
    by_name = {(kind, obj["metadata"]["name"]): obj for kind, obj in everything}
    observed = Observed(
        lambda kind, key: by_name.get((kind, key.name)),
        lambda *_: (),
        lambda kind, namespace: [obj for k, obj in everything if k == kind],
    )
    return View(
        live=live,
        resource=msgspec.convert(live, OVNCluster),
        observed=observed,
        now=now,
        random=lambda number: b"",
        answers={RECORDS: Answer(records)},
    )


def a_node(name: str = "h1", **annotations: str) -> Object:
    return {
        "metadata": {"name": name, "uid": name, "annotations": annotations, "labels": HYPERVISOR},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
    }


def a_chassis(name: str = "h1", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "net", "generation": 1},
        "spec": {
            "hostname": name,
            "systemId": name,
            "encapsulation": {"ip": "10.0.0.1", "type": "geneve"},
            **spec,
        },
    }


def bodies(view: View, database: databases.Database) -> dict[tuple[Kind, str], Any]:
    return {(d.kind, d.key.name): d.body for d in databases.objects(view, database)}


def test_servers_are_known_by_the_names_of_their_pods() -> None:
    view = a_view(northbound={"replicas": 3})
    created = bodies(view, databases.NORTHBOUND)
    pod = created[STATEFUL_SET, "ovn-northbound"]["spec"]["template"]["spec"]["containers"][0]
    servers = next(each["value"] for each in pod["env"] if each["name"] == "OVN_SERVERS")
    assert servers.split(",")[2] == "ovn-northbound-2.ovn-northbound.net.svc.cluster.local"
    assert created[SERVICE, "ovn-northbound"]["spec"]["publishNotReadyAddresses"]


def test_encryption_changes_every_connection() -> None:
    plain, encrypted = a_view(), a_view(tls={"enabled": True})
    assert databases.NORTHBOUND.endpoint(plain) == "tcp:ovn-nb.net.svc.cluster.local:6641"
    assert databases.NORTHBOUND.endpoint(encrypted) == "ssl:ovn-nb.net.svc.cluster.local:6641"
    assert databases.SOUTHBOUND.servers(encrypted).startswith("ssl:ovn-southbound-0.")
    assert databases.tls_options(plain) == []


def test_a_claim_that_exists_is_left_as_it_is() -> None:
    claim = {"spec": {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "old"}}
    meta = {"name": "ovn-northbound", "generation": 1}
    live = {"metadata": meta, "spec": {"volumeClaimTemplates": [claim]}}
    view = a_view((STATEFUL_SET, live), northbound={"replicas": 1})
    created = bodies(view, databases.NORTHBOUND)[STATEFUL_SET, "ovn-northbound"]
    (template,) = created["spec"]["volumeClaimTemplates"]
    assert template["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert template["spec"]["storageClassName"] == "old"


def test_volumes_are_deleted_with_the_object_only_if_its_policy_is_delete() -> None:
    for policy in ("Retain", "Delete"):
        created = bodies(a_view(deletionPolicy=policy), databases.SOUTHBOUND)
        spec = created[STATEFUL_SET, "ovn-southbound"]["spec"]
        assert spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == policy


def test_hypervisors_wait_for_the_address_of_the_database() -> None:
    assert list(hypervisors.ovs_objects(a_view())) == []
    view = a_view((SERVICE, SOUTHBOUND_SERVICE), (NODE, a_node()))
    created = {each.kind: each.body for each in hypervisors.ovs_objects(view)}
    spec = created[DAEMON_SET]["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"node-role.kubernetes.io/hypervisor": ""}
    assert spec["tolerations"] == [{"operator": "Exists"}]


def test_a_node_of_another_network_is_left_alone() -> None:
    older = {
        "metadata": {
            "name": "older",
            "namespace": "other",
            "creationTimestamp": "2025-01-01T00:00:00Z",
            "uid": "older",
        },
        "spec": {},
    }
    held = a_view((SERVICE, SOUTHBOUND_SERVICE), (NODE, a_node()), (CLUSTER, older))
    assert held.taken == {"h1": "other/older"}
    assert list(hypervisors.ovs_objects(held)) == []
    assert isinstance(hypervisors.ovs_ready(held), Blocked)


def test_the_older_network_has_the_node() -> None:
    def a_cluster(name: str, created: str) -> Object:
        meta = {"name": name, "namespace": "n", "creationTimestamp": created, "uid": name}
        return {"metadata": meta, "spec": {"ovs": {"nodeSelector": {"rack": "1"}}}}

    node = a_node()
    node["metadata"]["labels"] = {"rack": "1"}
    old, new = a_cluster("old", "2026-01-01T00:00:00Z"), a_cluster("new", "2026-01-02T00:00:00Z")
    assert nodes.taken([node], new, [old, new]) == {"h1": "n/old"}
    assert nodes.taken([node], old, [old, new]) == {}


def test_the_tunnel_address_is_the_annotated_one_or_the_nodes_own() -> None:
    assert chassis.tunnel_address(a_node()) == "10.0.0.1"
    annotated = a_node(**{"ovn.c5c3.io/tunnel-address": "10.1.0.1/24"})
    (wanted,) = chassis.objects(a_view((NODE, annotated)))
    assert wanted.object.kind == CHASSIS
    assert wanted.object.body["spec"]["encapsulation"] == {"type": "geneve", "ip": "10.1.0.1"}


def test_a_chassis_that_a_user_has_written_is_not_changed() -> None:
    written = a_view((NODE, a_node()), (CHASSIS, a_chassis()))
    assert list(chassis.objects(written)) == []


def test_uplinks_go_to_the_bridges_of_their_networks() -> None:
    mappings = [
        BridgeMapping(physical_network="external", bridge="br-ex"),
        BridgeMapping(physical_network="storage", bridge="br-storage"),
    ]
    assert chassis.uplinks("eth2", mappings) == {"br-ex": "eth2"}
    both = chassis.uplinks("storage=eth3, external=eth2,unknown=eth4", mappings)
    assert both == {"br-ex": "eth2", "br-storage": "eth3"}
    assert chassis.uplinks("", mappings) == {}
    assert chassis.uplinks("eth2", []) == {}


def test_rows_become_records() -> None:
    found = southbound.parse(
        [
            {
                "name": "a",
                "hostname": "h1",
                "other_config": ["map", [["ovn-bridge-mappings", "e:b"]]],
            }
        ],
        [{"name": "a", "nb_cfg_timestamp": 1768478400123}],
        [{"chassis_name": "a", "type": "geneve", "ip": "10.0.0.1"}],
    )
    moment = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
    assert found == {"a": Record("a", "h1", (("geneve", "10.0.0.1"),), "e:b", moment)}


def _status(record: Record | None, before: Any = None, *, later: timedelta = timedelta()) -> Any:
    live = {**a_chassis(), **({"status": before} if before else {})}
    seen = a_view(records={"h1": record} if record else {}, now=NOW + later)
    return chassis.status(seen, live)


def _record(*, age: timedelta | None = timedelta(), ip: str = "10.0.0.1") -> Record:
    confirmed = None if age is None else NOW - age
    return Record("h1", "h1", (("geneve", ip),), confirmed=confirmed)


def test_a_chassis_is_ready_when_it_answers() -> None:
    status = _status(_record())
    assert [(c["type"], c["status"]) for c in status["conditions"]] == [
        ("Ready", "True"),
        ("OVSConnected", "True"),
    ]
    assert status["lastHeartbeat"] == "2026-01-15T12:00:00Z"


def test_reasons_of_a_chassis_that_is_not_ready() -> None:
    cases = {
        "NotRegistered": None,
        "Registering": _record(age=None),
        "HeartbeatLost": _record(age=timedelta(minutes=2)),
        "EncapsulationDiffers": _record(ip="10.9.9.9"),
    }
    for reason, record in cases.items():
        assert _status(record)["conditions"][0]["reason"] == reason


def test_a_restart_of_the_operator_makes_no_chassis_missing() -> None:
    """No confirmations were asked for meanwhile, so old ones prove nothing until they had time."""
    before = _status(_record(age=timedelta(seconds=-600)))
    asked = replace(_record(age=timedelta(minutes=10)), asked_since=NOW)
    live = {**a_chassis(), "status": before}
    for later, reason in ((2, "Connected"), (39, "Connected"), (41, "HeartbeatLost")):
        moment = timedelta(seconds=later)
        assert _status(asked, before, later=moment)["conditions"][0]["reason"] == reason
        view = a_view((CHASSIS, live), records={"h1": asked}, now=NOW + moment)
        assert chassis.alive(view) == ({"h1"} if reason == "Connected" else set())
    lost = _status(_record(age=timedelta(minutes=10)))
    assert _status(asked, lost)["conditions"][0]["reason"] == "HeartbeatLost"


def test_a_pause_of_the_operator_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_: Any) -> Records:
        return {"h1": _record()}

    monkeypatch.setattr(southbound, "records", answer)
    ovn = planner.OVNPlanner()
    monkeypatch.setattr(ovn, "_southbound", lambda _: object())
    context = Context(offline.cluster(), "test")
    since = []
    for seconds in (0, 15, 30, 200, 215):
        moment = NOW + timedelta(seconds=seconds)
        found: Any = asyncio.run(ovn._records(a_view(now=moment), context))
        since.append((found["h1"].asked_since - NOW).seconds)
    assert since == [0, 0, 0, 200, 200]


def test_heartbeats_are_written_twice_an_hour_only() -> None:
    first = _status(_record())
    soon = timedelta(minutes=29)
    assert _status(_record(age=-soon), first, later=soon) == first
    late = timedelta(minutes=31)
    status = _status(_record(age=-late), first, later=late)
    assert status["lastHeartbeat"] == "2026-01-15T12:31:00Z"
    assert status["registeredAt"] == first["registeredAt"]


def test_controllers_wait_for_silent_hypervisors() -> None:
    rolled_out = {
        "metadata": {"name": "ovn-controller", "generation": 1},
        "status": {
            "observedGeneration": 1,
            "desiredNumberScheduled": 1,
            "numberReady": 1,
            "updatedNumberScheduled": 1,
        },
    }
    silent = a_view((NODE, a_node()), (DAEMON_SET, rolled_out), (CHASSIS, a_chassis()), records={})
    verdict = hypervisors.controller_ready(silent)
    assert verdict == Waiting(
        "ChassisMissing", "0/1 hypervisors registered and alive; missing: 'h1'"
    )
