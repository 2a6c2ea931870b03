"""What a user sees of a cloud that `cobalt up` made."""

import json
from typing import Any

from cobaltcore.lab.cloud.outside import Outside
from tests.support.lab import Lab, eventually


def openstack(lab: Lab, *arguments: str) -> Any:
    return json.loads(lab.cobalt("openstack", *arguments, "--format", "json"))


def test_the_control_plane_is_ready_in_all_parts(lab: Lab) -> None:
    line = lab.kubectl("get", "controlplanes", "-n", "openstack").splitlines()[1].split()
    assert line[1:3] == ["True", "Ready"]
    ready, _, whole = line[3].partition("/")
    assert ready == whole


def test_the_catalogue_has_every_service_in_the_region_with_three_interfaces(lab: Lab) -> None:
    catalogue = openstack(lab, "catalog", "list")
    types = {entry["Type"] for entry in catalogue}
    assert types >= {"identity", "image", "placement", "compute", "network", "block-storage"}
    for entry in catalogue:
        found = {(each["region_id"], each["interface"]) for each in entry["Endpoints"]}
        assert found == {("RegionOne", each) for each in ("public", "internal", "admin")}, entry


def test_the_server_runs_and_answers_from_outside(lab: Lab) -> None:
    server = openstack(lab, "server", "show", "demo")
    assert server["status"] == "ACTIVE"
    floating = openstack(lab, "floating", "ip", "list")[0]["Floating IP Address"]
    with Outside(lab.place.existing().index) as outside:
        eventually(lambda: outside.pings(floating), "the server answers to ping")
        assert outside.banner(floating).startswith("SSH-2.0")


def test_a_volume_is_attached_and_written(lab: Lab) -> None:
    lab.cobalt("openstack", "volume", "create", "--size", "1", "scratch")
    eventually(
        lambda: openstack(lab, "volume", "show", "scratch")["status"] == "available", "a volume"
    )
    lab.cobalt("openstack", "server", "add", "volume", "demo", "scratch")

    def written() -> bool:
        said = lab.cobalt("openstack", "console", "log", "show", "demo")
        return "guest: disk vdb: written by" in said

    eventually(written, "the guest has written to the volume and read it back")
    lab.cobalt("openstack", "server", "remove", "volume", "demo", "scratch")
    eventually(
        lambda: openstack(lab, "volume", "show", "scratch")["status"] == "available",
        "the volume is detached",
    )
    lab.cobalt("openstack", "volume", "delete", "scratch")


def test_every_hypervisor_serves(lab: Lab) -> None:
    found = openstack(lab, "compute", "service", "list", "--service", "nova-compute")
    assert [each["State"] for each in found] == ["up"] * 2
