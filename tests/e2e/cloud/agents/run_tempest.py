"""Run Tempest in the toolbox pod.

`list REGEX...` prints the names of the selected tests without those that stdin excludes, in the format
of Tempest's own lists. `run LOGIN` runs the tests whose names stdin has, and prints a JSON object for each
one when it has ended. LOGIN is `ssh` or `none`: whether tests log in to servers.
"""

import configparser
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # in the toolbox image
import subunit  # type: ignore[import-not-found]  # in the toolbox image
import tempest  # type: ignore[import-not-found]  # in the toolbox image
import testtools  # type: ignore[import-not-found]  # in the toolbox image

HOME = Path("/tmp/tempest")
GUEST_DISK = "/guest/disk.raw"
ALT_FLAVOR = "demo-large"
CONCURRENCY = "2"
RESULTS = {"success": "passed", "xfail": "passed", "skip": "skipped", "inprogress": "lost"}
"""Any other status is a failure; a test is lost if its worker died."""


def settings(cloud: Any, *, login: bool) -> dict[str, dict[str, Any]]:
    """tempest.conf."""
    auth = cloud.config.config["auth"]
    extensions = ",".join(sorted(each.alias for each in cloud.network.extensions()))
    return {
        "DEFAULT": {"log_dir": HOME / "logs"},
        "oslo_concurrency": {"lock_path": HOME / "locks"},
        "auth": {
            "use_dynamic_credentials": True,
            "admin_username": auth["username"],
            "admin_password": auth["password"],
            "admin_project_name": auth["project_name"],
            "admin_domain_name": "Default",
            "tempest_roles": "member",
            "create_isolated_networks": True,
        },
        "identity": {
            "uri_v3": auth["auth_url"],
            "auth_version": "v3",
            "region": cloud.config.get_region_name() or "RegionOne",
            "v3_endpoint_type": "public",
            "default_domain_id": "default",
            "ca_certificates_file": cloud.config.config.get("cacert") or "",
        },
        "identity-feature-enabled": {"api_v2": False, "api_v2_admin": False},
        "service_available": {
            **dict.fromkeys(("cinder", "glance", "nova", "neutron", "placement"), True),
            **dict.fromkeys(("swift", "horizon"), False),
        },
        **compute(cloud),
        "validation": {
            "run_validation": login,
            "connect_method": "floating",
            "network_for_ssh": "public",
            "image_ssh_user": "root",
            "image_alt_ssh_user": "root",
        },
        "network": {
            "public_network_id": cloud.network.find_network("public").id,
            "floating_network_name": "public",
            "project_network_cidr": "10.100.0.0/16",
            "project_network_mask_bits": 28,
        },
        "network-feature-enabled": {
            **dict.fromkeys(("ipv6", "ipv6_subnet_attributes", "port_security"), True),
            "api_extensions": extensions,
        },
        "volume": {
            "catalog_type": "block-storage",
            "storage_protocol": "ceph",
            "vendor_name": "Open Source",
            "build_timeout": 300,
        },
        "volume-feature-enabled": {
            **dict.fromkeys(("snapshot", "clone", "extend_attached_volume"), True),
            "backup": False,
        },
        # Glance inspects the content: random bytes only match the format raw.
        "image": {"disk_formats": "raw", "container_formats": "bare"},
        "image-feature-enabled": {"import_image": False},
    }


def compute(cloud: Any) -> dict[str, dict[str, Any]]:
    """The sections about servers."""
    image = cloud.image.find_image("demo").id
    alt = cloud.compute.find_flavor(ALT_FLAVOR) or cloud.compute.create_flavor(
        name=ALT_FLAVOR, ram=256, vcpus=1, disk=1
    )
    offered = ("suspend", "snapshot", "shelve", "live_migration", "rescue", "vnc_console")
    missing = ("cold_migration", "resize", "attach_encrypted_volume")
    return {
        "compute": {
            "image_ref": image,
            "image_ref_alt": image,
            "flavor_ref": cloud.compute.find_flavor("demo").id,
            "flavor_ref_alt": alt.id,
            "min_compute_nodes": 2,
            "build_timeout": 300,
            "min_microversion": "2.1",
            "max_microversion": "2.100",
        },
        "compute-feature-enabled": {
            **dict.fromkeys(offered, True),
            **dict.fromkeys(missing, False),
        },
        "validation": {
            "run_validation": True,
            "connect_method": "floating",
            "network_for_ssh": "public",
            "image_ssh_user": "root",
            "image_alt_ssh_user": "root",
        },
        # The guest runs from memory; files in /disk are on its disk.
        "scenario": {
            "img_file": GUEST_DISK,
            "img_disk_format": "raw",
            "dhcp_client": "udhcpc",
            "target_dir": "/disk",
        },
    }


def prepare(*, login: bool = True) -> dict[str, str]:
    """Write the configuration; return the environment of Tempest."""
    for each in ("logs", "locks", "etc"):
        (HOME / each).mkdir(parents=True, exist_ok=True)
    parser = configparser.RawConfigParser()
    with openstack.connect() as cloud:
        authority = cloud.config.config.get("cacert")
        parser.read_dict(settings(cloud, login=login))
    with (HOME / "etc/tempest.conf").open("w") as file:
        parser.write(file)
    site = Path(tempest.__file__).parent
    (HOME / ".stestr.conf").write_text(
        f"[DEFAULT]\ntest_path={site}/test_discover\ntop_dir={site.parent}\n"
        "group_regex=([^\\.]*\\.)*\n"
    )
    if not (HOME / ".stestr").exists():
        subprocess.run(["stestr", "init"], cwd=HOME, check=True)
    return {
        **os.environ,
        "TEMPEST_CONFIG_DIR": str(HOME / "etc"),
        "TEMPEST_CONFIG": "tempest.conf",
        "HOME": str(HOME),
        # Tests of consoles open them like a browser, without Tempest's settings.
        **({"SSL_CERT_FILE": authority} if authority else {}),
    }


def selected(environment: dict[str, str], exclusions: str, patterns: list[str]) -> list[str]:
    """Names of the selected tests."""
    (HOME / "exclusions").write_text(exclusions)
    command = ["tempest", "run", "--list-tests", "--exclude-list", "exclusions"]
    listed = subprocess.run(
        [*command, "--regex", "|".join(patterns)],
        cwd=HOME, env=environment, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    return [line for line in listed.splitlines() if line.startswith("tempest.")]


def stop_previous() -> None:
    """End a run whose connection was lost, with all of its workers."""
    file = HOME / "pid"
    with suppress(FileNotFoundError, ProcessLookupError):
        os.killpg(int(file.read_text()), signal.SIGKILL)
    file.write_text(str(os.getpid()))


def report(test: dict[str, Any]) -> None:
    """Print the result of a test; Tempest lists all tests first."""
    if test["status"] == "exists":
        return
    details = {name: content.as_text() for name, content in test["details"].items()}
    text = details.get("reason") or details.get("traceback", "")
    started, ended = test["timestamps"]
    found = {
        "test": test["id"],
        "result": RESULTS.get(test["status"], "failed"),
        "seconds": (ended - started).total_seconds() if started and ended else 0.0,
        "text": text.strip()[-4000:],
    }
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def run(environment: dict[str, str], names: list[str]) -> None:
    """Run tests; their results are printed as they come."""
    (HOME / "selected").write_text("".join(f"{each}\n" for each in names))
    command = ["tempest", "run", "--subunit", "--concurrency", CONCURRENCY]
    with subprocess.Popen(
        [*command, "--load-list", "selected"], cwd=HOME, env=environment, stdout=subprocess.PIPE
    ) as process:
        results = testtools.StreamToDict(report)
        results.startTestRun()
        subunit.ByteStreamToStreamResult(process.stdout, "stdout").run(results)
        results.stopTestRun()


def main(verb: str, arguments: list[str]) -> None:
    if verb == "list":
        names = selected(prepare(), sys.stdin.read(), arguments)
        sys.stdout.writelines(f"{each}\n" for each in names)
    else:
        with suppress(PermissionError):
            os.setsid()
        HOME.mkdir(exist_ok=True)
        stop_previous()
        run(prepare(login=arguments == ["ssh"]), sys.stdin.read().split())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
