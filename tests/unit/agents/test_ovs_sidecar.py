"""OVS sidecar: what bridges, interfaces and kernel settings of a hypervisor should be."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cobaltcore.agents import processes, readiness
from cobaltcore.agents.ovs import datapath, settings, sidecar

NETDEV, SYSTEM = "netdev", "system"


def chassis(**changes: Any) -> Any:
    return {
        "systemId": "h1",
        "hostname": "h1",
        "remote": "tcp:10.96.0.7:6642",
        "encapsulation": {"type": "geneve", "ip": "10.1.0.1"},
        "tunnelAddress": "10.1.0.1/24",
        "tunnelInterface": "tun0",
        "bridges": {"public": "br-ex"},
        "uplinks": {"br-ex": "ext0"},
        "datapath": "auto",
        **changes,
    }


def test_in_the_userspace_datapath_tunnels_leave_through_a_bridge_with_the_address() -> None:
    assert settings.uplinks(chassis(), NETDEV) == {"br-ex": "ext0", "br-tun": "tun0"}
    commands = settings.interface_commands(chassis(), NETDEV)
    assert ["ip", "address", "replace", "10.1.0.1/24", "dev", "br-tun"] in commands


def test_in_the_kernels_datapath_the_interface_keeps_the_address() -> None:
    assert settings.uplinks(chassis(), SYSTEM) == {"br-ex": "ext0"}
    commands = settings.interface_commands(chassis(), SYSTEM)
    assert ["ip", "address", "replace", "10.1.0.1/24", "dev", "tun0"] in commands


def test_the_kernel_stays_out_of_the_switchs_networks() -> None:
    found = settings.kernel_settings(chassis(), NETDEV)
    assert found["ipv4/conf/all/arp_ignore"] == "1"
    assert found["ipv4/conf/tun0/rp_filter"] == "1"
    assert settings.kernel_settings(chassis(uplinks={}, bridges={}), SYSTEM) == {}


def test_the_database_gets_what_ovn_and_neutron_look_for() -> None:
    changes = settings.database_changes(chassis(), NETDEV)
    (values,) = (each for each in changes if each[:2] == ["set", "open_vswitch"])
    for wanted in (
        'external-ids:system-id="h1"',
        'external-ids:hostname="h1"',
        'external-ids:ovn-encap-ip="10.1.0.1"',
        'external-ids:ovn-bridge-mappings="public:br-ex"',
        'external-ids:ovn-bridge-datapath-type="netdev"',
        'external-ids:ovn-cms-options="enable-chassis-as-gw"',
    ):
        assert wanted in values
    assert ["--may-exist", "add-port", "br-ex", "ext0"] in changes


def test_mappings_that_are_gone_are_removed() -> None:
    changes = settings.database_changes(chassis(bridges={}, uplinks={}), SYSTEM)
    gone = ["remove", "open_vswitch", ".", "external-ids", "ovn-bridge-mappings"]
    assert gone in changes


def test_a_choice_of_the_user_is_not_questioned() -> None:
    assert datapath.choose("system") == "system"
    assert datapath.choose("netdev") == "netdev"


def test_the_kernel_is_asked_for_families_of_messages() -> None:
    assert datapath.kernel_has_family("nlctrl")
    assert not datapath.kernel_has_family("cobaltcore")


def test_interfaces_that_are_down_are_found(tmp_path: Path) -> None:
    for name, flags in (("tap-up", "0x1103"), ("tap-down", "0x1102")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flags").write_text(f"{flags}\n")
    (tmp_path / "vanished").mkdir()
    (tmp_path / "bonding_masters").touch()
    assert sidecar.interfaces_down(tmp_path) == {"tap-down"}


def test_the_sidecar_is_ready_only_while_its_settings_are_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "DIRECTORY", tmp_path)
    monkeypatch.setattr(sidecar, "INTERFACES", tmp_path / "net")
    monkeypatch.setattr(processes, "output", lambda *_: "")
    (tmp_path / "net" / "br-int").mkdir(parents=True)
    (tmp_path / "net" / "br-int" / "flags").write_text("0x1103\n")
    file = tmp_path / "h1.json"
    agent = sidecar.Sidecar(file)
    agent.reconcile()
    assert sidecar.readiness_problem([]) is not None
    file.write_text(json.dumps(chassis(datapath="netdev", bridges={}, tunnelInterface="")))
    agent.reconcile()
    assert sidecar.readiness_problem([]) is None

    def fail(*command: str) -> str:
        raise subprocess.CalledProcessError(1, command, stderr="no database")

    monkeypatch.setattr(processes, "output", fail)
    file.write_text(json.dumps(chassis(datapath="netdev", bridges={}, tunnelInterface="tun0")))
    agent.reconcile()
    assert sidecar.readiness_problem([]) is not None
