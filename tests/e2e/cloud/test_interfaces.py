"""What a server's interface goes through on its node."""

from tests.support.cloud import DEMO, NAMESPACE, Cloud
from tests.support.lab import Lab, eventually
from tests.support.lab_ovn import Network


def test_a_server_whose_interface_was_taken_down_is_reached_again(lab: Lab, cloud: Cloud) -> None:
    here, server = cloud.host(DEMO), cloud.get("server", "show", DEMO)["id"]
    network = Network(lab, NAMESPACE)
    tap = network.switch(
        here, "ovs-vsctl", "--bare", "--columns=name", "find", "interface",
        f"external_ids:vm-uuid={server}",
    ).strip()  # fmt: skip
    network.switch(here, "ip", "link", "set", tap, "down")
    with cloud.outside() as outside:
        floating = cloud.floating()
        eventually(lambda: outside.pings(floating), "the server answers")
