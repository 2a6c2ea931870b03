"""A network, an image and a server `demo`, made where they are missing: `demo.py STEP`.

Runs in the toolbox pod. Prints one JSON object: what the step found or made.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # of the toolbox's image

NAME = "demo"
DISK = Path("/guest/disk.raw")
EXTERNAL = "public"
EXTERNAL_CIDR = "172.24.4.0/24"
WAIT_SECONDS = 600
WORDS = ("guest: address", "guest: metadata", "guest: ready")


def flavor(cloud: Any) -> Any:
    """The smallest server."""
    found = cloud.compute.find_flavor(NAME)
    return found or cloud.compute.create_flavor(name=NAME, ram=192, vcpus=1, disk=1)


def images(cloud: Any) -> dict[str, str]:
    """The guest's disk; an image that was interrupted is made anew."""
    found = cloud.image.find_image(NAME)
    if found is not None and found.status != "active":
        cloud.image.delete_image(found)
        found = None
    found = found or cloud.image.create_image(
        name=NAME,
        filename=str(DISK),
        disk_format="raw",
        container_format="bare",
        visibility="public",
    )
    return {"flavor": flavor(cloud).id, "image": found.id}


def network(cloud: Any) -> dict[str, str]:
    """A network for servers and a way out of it."""
    outside = cloud.network.find_network(EXTERNAL) or cloud.network.create_network(
        name=EXTERNAL,
        is_router_external=True,
        is_shared=False,
        provider_network_type="flat",
        provider_physical_network=EXTERNAL,
    )
    if not outside.subnet_ids:
        cloud.network.create_subnet(
            name=EXTERNAL,
            network_id=outside.id,
            ip_version=4,
            cidr=EXTERNAL_CIDR,
            gateway_ip="172.24.4.1",
            is_dhcp_enabled=False,
            allocation_pools=[{"start": "172.24.4.10", "end": "172.24.4.250"}],
        )
    inside = cloud.network.find_network(NAME) or cloud.network.create_network(name=NAME)
    subnet = cloud.network.find_subnet(NAME) or cloud.network.create_subnet(
        name=NAME, network_id=inside.id, ip_version=4, cidr="10.0.0.0/24"
    )
    router = cloud.network.find_router(NAME) or cloud.network.create_router(
        name=NAME, external_gateway_info={"network_id": outside.id}
    )
    ports = list(cloud.network.ports(device_id=router.id, network_id=inside.id))
    if not ports:
        cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
    return {"network": inside.id, "outside": outside.id, "group": group(cloud)}


def group(cloud: Any) -> str:
    """Who may reach the server: ping and port 22 for all."""
    found = cloud.network.find_security_group(NAME)
    found = found or cloud.network.create_security_group(name=NAME)
    known = {
        (rule.protocol, rule.port_range_min)
        for rule in cloud.network.security_group_rules(security_group_id=found.id)
        if rule.direction == "ingress"
    }
    for protocol, port in (("icmp", None), ("tcp", 22)):
        if (protocol, port) not in known:
            cloud.network.create_security_group_rule(
                security_group_id=found.id,
                direction="ingress",
                ethertype="IPv4",
                protocol=protocol,
                port_range_min=port,
                port_range_max=port,
            )
    return str(found.id)


def server(cloud: Any) -> dict[str, Any]:
    """The server with an address from outside, once it is active."""
    found = cloud.compute.find_server(NAME)
    if found is not None and cloud.compute.get_server(found).status == "ERROR":
        cloud.compute.delete_server(found, force=False)
        cloud.compute.wait_for_delete(found, wait=WAIT_SECONDS)
        found = None
    is_new = found is None
    if is_new:
        network_id = cloud.network.find_network(NAME).id
        found = cloud.compute.create_server(
            name=NAME,
            flavor_id=cloud.compute.find_flavor(NAME).id,
            image_id=cloud.image.find_image(NAME).id,
            networks=[{"uuid": network_id}],
            security_groups=[{"name": NAME}],
        )
    found = cloud.compute.wait_for_server(found, wait=WAIT_SECONDS)
    port = next(iter(cloud.network.ports(device_id=found.id)))
    return {
        "id": found.id,
        "is_new": is_new,
        "status": found.status,
        "host": found.hypervisor_hostname or "",
        "address": port.fixed_ips[0]["ip_address"],
        "floating": floating(cloud, port),
    }


def floating(cloud: Any, port: Any) -> str:
    """The address from outside: its own, one that nobody uses, or a new one."""
    for known in cloud.network.ips(port_id=port.id):
        return str(known.floating_ip_address)
    free = [each for each in cloud.network.ips() if each.port_id is None]
    if free:
        taken = cloud.network.update_ip(free[0], port_id=port.id)
        return str(taken.floating_ip_address)
    outside = cloud.network.find_network(EXTERNAL)
    made = cloud.network.create_ip(floating_network_id=outside.id, port_id=port.id)
    return str(made.floating_ip_address)


def console(cloud: Any) -> dict[str, Any]:
    """What the server itself says: its lease, its metadata, that it is ready."""
    found = cloud.compute.find_server(NAME)
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        output = cloud.compute.get_server_console_output(found)["output"] or ""
        said = [line.strip() for line in output.splitlines() if line.startswith("guest: ")]
        if all(any(line.startswith(word) for line in said) for word in WORDS):
            return {"said": said}
        if time.monotonic() > deadline:
            raise SystemExit(f"the server did not come up; it said: {output[-500:]!r}")
        time.sleep(0.5)  # noqa: TID251 no clock of ours in the toolbox


STEPS = {"images": images, "network": network, "server": server, "console": console}


def main(step: str) -> None:
    """Run one step."""
    with openstack.connect() as cloud:
        sys.stdout.write(json.dumps(STEPS[step](cloud)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
