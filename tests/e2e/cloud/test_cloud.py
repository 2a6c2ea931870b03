"""A cloud deployed by `cobalt up`, as a user sees it."""

from typing import Any

from tests.support.cloud import DEMO, Cloud
from tests.support.lab import Lab, eventually

INTERFACES = ("public", "internal", "admin")
DEPENDENCIES = {
    "glance": {"keystone"},
    "placement": {"keystone"},
    "nova": {"keystone", "glance", "placement"},
    "neutron": {"keystone"},
    "cinder": {"keystone", "glance"},
}


def test_all_parts_of_the_control_plane_are_ready(lab: Lab) -> None:
    table = lab.kubectl("get", "controlplanes", "-n", "openstack")
    heads, row = (line.split() for line in table.splitlines())
    assert heads == ["NAME", "READY", "PHASE", "PROGRESS", "RELEASE", "MESSAGE", "AGE"]
    assert row[1:3] == ["True", "Ready"]
    ready, _, whole = row[3].partition("/")
    assert ready == whole


def test_no_service_was_ready_before_its_dependencies(samples: list[dict[str, Any]]) -> None:
    assert len(samples) > 10, "the deployment has more steps"
    for each in samples:
        services = each.get("services", {})
        ready = {name for name, service in services.items() if service.get("ready")}
        early = {name for name in ready if not DEPENDENCIES.get(name, set()) <= ready}
        assert not early, each
        ready_status = [c["status"] for c in each.get("conditions", ()) if c["type"] == "Ready"]
        parts, _, whole = each.get("progress", "0/1").partition("/")
        # All parts can serve while one still rolls.
        assert ready_status != ["True"] or parts == whole, each


def test_the_catalogue_has_every_service_in_the_region_with_three_interfaces(cloud: Cloud) -> None:
    catalogue = cloud.get("catalog", "list")
    types = {entry["Type"] for entry in catalogue}
    assert types >= {"identity", "image", "placement", "compute", "network", "block-storage"}
    for entry in catalogue:
        found = {(each["region_id"], each["interface"]) for each in entry["Endpoints"]}
        assert found == {("RegionOne", each) for each in INTERFACES}, entry


def test_the_server_is_active_and_answers_at_its_floating_address(cloud: Cloud) -> None:
    assert cloud.get("server", "show", DEMO)["status"] == "ACTIVE"
    floating = cloud.floating()
    with cloud.external_host() as external:
        eventually(lambda: external.pings(floating), "the server answers to ping")
        assert external.banner(floating).startswith("SSH-2.0")


def test_every_hypervisor_is_up(cloud: Cloud) -> None:
    found = cloud.get("compute", "service", "list", "--service", "nova-compute")
    assert [each["State"] for each in found] == ["up"] * 2
