"""Creates flavor, image, networks and a server `demo` where they are missing: `demo.py STEP`.

Runs in the toolbox pod. Prints one JSON object: what the step found or created.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # in the toolbox's image

NAME = "demo"
DISK = Path("/guest/disk.raw")
EXTERNAL = "public"
EXTERNAL_CIDR = "172.24.4.0/24"
WAIT_SECONDS = 600
CONSOLE_LINES = ("guest: address", "guest: metadata", "guest: ready")


def flavor(cloud: Any) -> Any:
    found = cloud.compute.find_flavor(NAME)
    return found or cloud.compute.create_flavor(name=NAME, ram=192, vcpus=1, disk=1)


def images(cloud: Any) -> dict[str, str]:
    """Upload the guest's disk; an interrupted upload is repeated."""
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
    """A tenant network, and a router to the external network."""
    external = cloud.network.find_network(EXTERNAL) or cloud.network.create_network(
        name=EXTERNAL,
        is_router_external=True,
        is_shared=False,
        provider_network_type="flat",
        provider_physical_network=EXTERNAL,
    )
    if not external.subnet_ids:
        cloud.network.create_subnet(
            name=EXTERNAL,
            network_id=external.id,
            ip_version=4,
            cidr=EXTERNAL_CIDR,
            gateway_ip="172.24.4.1",
            is_dhcp_enabled=False,
            allocation_pools=[{"start": "172.24.4.10", "end": "172.24.4.250"}],
        )
    tenant = cloud.network.find_network(NAME) or cloud.network.create_network(name=NAME)
    subnet = cloud.network.find_subnet(NAME) or cloud.network.create_subnet(
        name=NAME, network_id=tenant.id, ip_version=4, cidr="10.0.0.0/24"
    )
    router = cloud.network.find_router(NAME) or cloud.network.create_router(
        name=NAME, external_gateway_info={"network_id": external.id}
    )
    ports = list(cloud.network.ports(device_id=router.id, network_id=tenant.id))
    if not ports:
        cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
    return {"network": tenant.id, "external": external.id, "group": group(cloud)}


def group(cloud: Any) -> str:
    """A security group that allows ICMP and SSH from everywhere."""
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
    """The server with a floating address, once it is ACTIVE; one in ERROR is replaced."""
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
    """The floating address of a port: its own, an unused one, or a new one."""
    for known in cloud.network.ips(port_id=port.id):
        return str(known.floating_ip_address)
    free = [each for each in cloud.network.ips() if each.port_id is None]
    if free:
        updated = cloud.network.update_ip(free[0], port_id=port.id)
        return str(updated.floating_ip_address)
    external = cloud.network.find_network(EXTERNAL)
    created = cloud.network.create_ip(floating_network_id=external.id, port_id=port.id)
    return str(created.floating_ip_address)


def console(cloud: Any) -> dict[str, Any]:
    """Wait for console output of the guest: DHCP lease, metadata, ready."""
    found = cloud.compute.find_server(NAME)
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        output = cloud.compute.get_server_console_output(found)["output"] or ""
        lines = [line.strip() for line in output.splitlines() if line.startswith("guest: ")]
        if all(any(line.startswith(prefix) for line in lines) for prefix in CONSOLE_LINES):
            return {"lines": lines}
        if time.monotonic() > deadline:
            raise SystemExit(
                f"the server did not boot within {WAIT_SECONDS} s; its console ends with {output[-500:]!r}"
            )
        time.sleep(0.5)  # noqa: TID251 this package is not in the image


STEPS = {"images": images, "network": network, "server": server, "console": console}


def main(step: str) -> None:
    with openstack.connect() as cloud:
        sys.stdout.write(json.dumps(STEPS[step](cloud)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
