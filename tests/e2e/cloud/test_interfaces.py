"""Network interfaces of servers on their node."""

from tests.support.cloud import DEMO, NAMESPACE, Cloud
from tests.support.lab import Lab, eventually
from tests.support.lab_ovn import Network


def test_a_tap_interface_that_was_set_down_is_set_up_again(lab: Lab, cloud: Cloud) -> None:
    here, server = cloud.host(DEMO), cloud.get("server", "show", DEMO)["id"]
    network = Network(lab, NAMESPACE)
    tap = network.switch(
        here, "ovs-vsctl", "--bare", "--columns=name", "find", "interface",
        f"external_ids:vm-uuid={server}",
    ).strip()  # fmt: skip
    network.switch(here, "ip", "link", "set", tap, "down")
    with cloud.external_host() as external:
        floating = cloud.floating()
        eventually(lambda: external.pings(floating), "the server answers")
