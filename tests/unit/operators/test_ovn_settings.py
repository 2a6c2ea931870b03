"""What a hypervisor's switch is made to be: the pure part of the program beside it."""

from pathlib import Path
from typing import Any

from cobaltcore.operators.ovn.inside import keep_settings

NETDEV, SYSTEM = "netdev", "system"


def told(**changes: Any) -> dict[str, Any]:
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


def test_in_user_space_tunnels_leave_through_a_bridge_with_the_address() -> None:
    assert keep_settings.plugged(told(), NETDEV) == {"br-ex": "ext0", "br-tun": "tun0"}
    commands = keep_settings.commands(told(), NETDEV)
    assert ["ip", "address", "replace", "10.1.0.1/24", "dev", "br-tun"] in commands


def test_with_the_kernels_switch_the_interface_keeps_the_address() -> None:
    assert keep_settings.plugged(told(), SYSTEM) == {"br-ex": "ext0"}
    commands = keep_settings.commands(told(), SYSTEM)
    assert ["ip", "address", "replace", "10.1.0.1/24", "dev", "tun0"] in commands


def test_the_kernel_stays_out_of_the_switchs_networks() -> None:
    settings = keep_settings.kernel_settings(told(), NETDEV)
    assert settings["ipv4/conf/all/arp_ignore"] == "1"
    assert settings["ipv4/conf/tun0/rp_filter"] == "1"
    assert keep_settings.kernel_settings(told(uplinks={}, bridges={}), SYSTEM) == {}


def test_the_database_gets_what_ovn_and_neutron_look_for() -> None:
    changes = keep_settings.database_changes(told(), NETDEV)
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
    changes = keep_settings.database_changes(told(bridges={}, uplinks={}), SYSTEM)
    gone = ["remove", "open_vswitch", ".", "external-ids", "ovn-bridge-mappings"]
    assert gone in changes


def test_a_choice_of_the_user_is_not_questioned() -> None:
    assert keep_settings.choose_datapath("system") == "system"
    assert keep_settings.choose_datapath("netdev") == "netdev"


def test_the_kernel_is_asked_for_families_of_messages() -> None:
    assert keep_settings.has_family("nlctrl")
    assert not keep_settings.has_family("cobaltcore")


def test_interfaces_that_are_down_are_found(tmp_path: Path) -> None:
    for name, flags in (("tap-up", "0x1103"), ("tap-down", "0x1102")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flags").write_text(f"{flags}\n")
    (tmp_path / "vanished").mkdir()
    (tmp_path / "bonding_masters").touch()
    assert keep_settings.fallen(tmp_path) == {"tap-down"}
