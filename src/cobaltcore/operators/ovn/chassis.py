"""Hypervisor nodes as parts of the network: OVNChassis objects and settings of OVS. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from cobaltcore.api.ovn import (
    CHASSIS,
    TUNNEL_ADDRESS,
    TUNNEL_INTERFACE,
    UPLINKS,
    BridgeMapping,
    ChassisEncapsulation,
    OVNChassis,
    OVNChassisSpec,
    OVNChassisStatus,
)
from cobaltcore.engine.verdict import Ready, Verdict, Waiting, condition
from cobaltcore.operators.ovn.southbound import Record
from cobaltcore.operators.ovn.view import OPERATOR, View
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Desired, Object
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp

COMPONENT = "chassis"
LOST_AFTER = timedelta(seconds=90)
ANSWER_WITHIN = timedelta(seconds=40)
HEARTBEAT_EVERY = timedelta(minutes=30)


class DesiredChassis(NamedTuple):
    """An OVNChassis, and the Node that it belongs to."""

    object: Desired
    node: Object


def objects(view: View) -> Iterator[DesiredChassis]:
    """One for each hypervisor; one that a user has created stays as it is."""
    for node in view.nodes:
        name, address = node["metadata"]["name"], tunnel_address(node)
        live = view.chassis.get(name)
        if not address or (live is not None and not is_ours(live, view.name)):
            continue
        known = msgspec.convert(live, OVNChassis).spec if live else None
        spec = OVNChassisSpec(
            hostname=name,
            system_id=known.system_id if known else name,
            encapsulation=ChassisEncapsulation(
                type=view.spec.controller.encapsulation, ip=address.partition("/")[0]
            ),
        )
        built = msgspec.to_builtins(spec)
        # The encoder omits defaults; a field that we own must be set explicitly.
        built["encapsulation"]["type"] = spec.encapsulation.type
        key = view.sibling(name)
        meta = {"name": name, "namespace": key.namespace, "labels": view.labels(COMPONENT)}
        yield DesiredChassis(Desired(CHASSIS, {"metadata": meta, "spec": built}), node)


def is_ours(chassis: Object, cluster: str) -> bool:
    """Whether this OVNCluster has created the object."""
    labels = chassis["metadata"].get("labels") or {}
    return (
        labels.get("app.kubernetes.io/managed-by") == f"{OPERATOR}-operator"
        and labels.get("app.kubernetes.io/instance") == cluster
    )


def settings(view: View, remote: str) -> dict[str, str]:
    """The OVS settings of each hypervisor, as a file for each node."""
    found = {}
    for node in view.nodes:
        name = node["metadata"]["name"]
        live = view.chassis.get(name)
        if live is None:
            continue
        spec = msgspec.convert(live, OVNChassis).spec
        notes = node["metadata"].get("annotations") or {}
        mappings = _mappings(view, spec)
        options = {
            "systemId": spec.system_id,
            "hostname": spec.hostname,
            "remote": remote,
            "encapsulation": {"type": spec.encapsulation.type, "ip": spec.encapsulation.ip},
            "tunnelAddress": notes.get(TUNNEL_ADDRESS, ""),
            "tunnelInterface": notes.get(TUNNEL_INTERFACE, ""),
            "bridges": {each.physical_network: each.bridge for each in mappings},
            "uplinks": uplinks(notes.get(UPLINKS, ""), mappings),
            "datapath": view.spec.ovs.datapath,
        }
        found[f"{name}.json"] = msgspec.json.encode(options, order="sorted").decode()
    return found


def uplinks(text: str, mappings: list[BridgeMapping]) -> dict[str, str]:
    """Interfaces by bridge; one without a network belongs to the first mapping."""
    bridges = {each.physical_network: each.bridge for each in mappings}
    found = {}
    for each in text.replace(" ", "").split(","):
        network, named, interface = each.rpartition("=")
        bridge = bridges.get(network) if named else next(iter(bridges.values()), None)
        if bridge and interface:
            found[bridge] = interface
    return found


def tunnel_address(node: Object) -> str:
    """The node's address on the network between hypervisors, with its prefix if it is known."""
    notes = node["metadata"].get("annotations") or {}
    if notes.get(TUNNEL_ADDRESS):
        return str(notes[TUNNEL_ADDRESS])
    listed = (node.get("status") or {}).get("addresses") or ()
    return next((each["address"] for each in listed if each["type"] == "InternalIP"), "")


def alive(view: View) -> set[str]:
    """System ids of the hypervisors that are alive."""
    reported = {live["spec"]["systemId"]: live for live in view.chassis.values()}
    return {
        name
        for name, record in (view.records or {}).items()
        if is_alive(record, view.now, before=_was_connected(reported.get(name)))
    }


def is_alive(record: Record | None, now: datetime, *, before: bool) -> bool:
    """Whether a hypervisor has confirmed lately, or was alive when it was not asked to.

    No chassis is asked while no operator runs, so an old confirmation proves nothing at first.
    """
    if record is None or record.confirmed is None:
        return False
    if now - record.confirmed < LOST_AFTER:
        return True
    return before and record.asked_since is not None and now - record.asked_since < ANSWER_WITHIN


def _was_connected(live: Object | None) -> bool:
    return conditions.is_true(conditions.of(live), "OVSConnected")


def status(view: View, live: Object) -> Mapping[str, Any]:
    """The status of one hypervisor by the southbound database."""
    chassis = msgspec.convert(live, OVNChassis)
    record = (view.records or {}).get(chassis.spec.system_id)
    before = chassis.status or OVNChassisStatus()
    verdict = _connected(record, view.now, before=_was_connected(live))
    reported = [
        condition("Ready", _ready(chassis.spec, record, verdict)),
        condition("OVSConnected", verdict),
    ]
    generation = live["metadata"]["generation"]
    merged = conditions.merge(before.conditions, reported, now=view.now, generation=generation)
    after = OVNChassisStatus(
        conditions=merged,
        observed_generation=generation,
        registered_at=before.registered_at or (timestamp(view.now) if record else None),
        last_heartbeat=_heartbeat(before, record, is_news=merged != before.conditions),
    )
    built: Mapping[str, Any] = msgspec.to_builtins(after)
    return built


def _connected(record: Record | None, now: datetime, *, before: bool) -> Verdict:
    if record is None:
        return Waiting(
            "NotRegistered", "ovn-controller has not registered in the southbound database"
        )
    if record.confirmed is None:
        return Waiting("Registering", "ovn-controller has registered and not confirmed yet")
    if not is_alive(record, now, before=before):
        since = timestamp(record.confirmed)
        text = f"no confirmation since {since}; check the pod of ovn-controller on the node"
        return Waiting("HeartbeatLost", text)
    return Ready("Connected")


def _ready(spec: OVNChassisSpec, record: Record | None, connected: Verdict) -> Verdict:
    if record is None or not isinstance(connected, Ready):
        return connected
    wanted = (spec.encapsulation.type, spec.encapsulation.ip)
    if wanted not in record.encapsulations:
        has = ", ".join(f"{kind} at {ip}" for kind, ip in record.encapsulations) or "nothing"
        return Waiting(
            "EncapsulationDiffers", f"registered with {has}, not {wanted[0]} at {wanted[1]}"
        )
    return Ready("Connected")


def _heartbeat(before: OVNChassisStatus, record: Record | None, *, is_news: bool) -> str | None:
    """Updated twice an hour only: each status update is a write per hypervisor."""
    known = before.last_heartbeat
    if record is None or record.confirmed is None:
        return known
    if known and not is_news and record.confirmed - parse_timestamp(known) < HEARTBEAT_EVERY:
        return known
    return timestamp(record.confirmed)


def _mappings(view: View, spec: OVNChassisSpec) -> list[BridgeMapping]:
    own = spec.bridge_mappings
    return list((view.spec.controller.bridge_mappings if own is None else own) or ())
