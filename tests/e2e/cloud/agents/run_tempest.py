"""Run Tempest in the toolbox pod: `run_tempest.py EXCLUDED REGEX...`; EXCLUDED is a JSON list.

Prints the progress of Tempest, and as the last line one JSON object: names of tests by result. A
selected test without a result, for example because its worker died, is `lost`.
"""

import configparser
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # in the toolbox image
import tempest  # type: ignore[import-not-found]  # in the toolbox image

HOME = Path("/tmp/tempest")
ALT_FLAVOR = "demo-large"
RESULTS = {"success": "passed", "skip": "skipped"}
"""Any other status is a failure."""


def settings(cloud: Any) -> dict[str, dict[str, Any]]:
    """tempest.conf."""
    auth = cloud.config.config["auth"]
    image = cloud.image.find_image("demo").id
    alt = cloud.compute.find_flavor(ALT_FLAVOR) or cloud.compute.create_flavor(
        name=ALT_FLAVOR, ram=256, vcpus=1, disk=1
    )
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
            **dict.fromkeys(("suspend", "snapshot", "shelve", "live_migration"), True),
            **dict.fromkeys(("vnc_console", "cold_migration", "resize", "rescue"), False),
        },
        "validation": {"run_validation": False, "connect_method": "floating"},
        "network": {
            "public_network_id": cloud.network.find_network("public").id,
            "floating_network_name": "public",
            "project_network_cidr": "10.100.0.0/16",
            "project_network_mask_bits": 28,
        },
        "network-feature-enabled": {"ipv6": True, "api_extensions": extensions},
        "volume": {
            "catalog_type": "block-storage",
            "storage_protocol": "ceph",
            "vendor_name": "Open Source",
            "build_timeout": 300,
        },
        # Glance inspects the content: random bytes only match the format raw.
        "image": {"disk_formats": "raw", "container_formats": "bare"},
        "volume-feature-enabled": {"backup": False, "snapshot": True, "clone": True},
        "image-feature-enabled": {"import_image": False},
    }


def prepare(excluded: list[str]) -> dict[str, str]:
    """Write the configuration; return the environment of Tempest."""
    for each in ("logs", "locks", "etc"):
        (HOME / each).mkdir(parents=True, exist_ok=True)
    parser = configparser.RawConfigParser()
    with openstack.connect() as cloud:
        parser.read_dict(settings(cloud))
    with (HOME / "etc/tempest.conf").open("w") as file:
        parser.write(file)
    (HOME / "excluded").write_text("".join(f"{each}\n" for each in excluded))
    site = Path(tempest.__file__).parent
    (HOME / ".stestr.conf").write_text(
        f"[DEFAULT]\ntest_path={site}/test_discover\ntop_dir={site.parent}\n"
        "group_regex=([^\\.]*\\.)*\n"
    )
    return {
        **os.environ,
        "TEMPEST_CONFIG_DIR": str(HOME / "etc"),
        "TEMPEST_CONFIG": "tempest.conf",
        "HOME": str(HOME),
    }


def run(environment: dict[str, str], *arguments: str) -> None:
    """Run a program in Tempest's directory; failed tests are reported from the results."""
    subprocess.run(arguments, cwd=HOME, env=environment, check=False, stdout=sys.stderr)


def selected(environment: dict[str, str], selection: tuple[str, ...]) -> list[str]:
    """Names of the selected tests."""
    listed = subprocess.run(
        ["tempest", "run", "--list-tests", *selection],
        cwd=HOME, env=environment, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [line for line in listed.splitlines() if line.startswith("tempest.")]


def results(environment: dict[str, str], wanted: list[str]) -> dict[str, list[str]]:
    """Names of the last run's tests by result."""
    stream = subprocess.run(
        ["stestr", "last", "--subunit"],
        cwd=HOME, env=environment, check=False, capture_output=True,
    ).stdout  # fmt: skip
    listed = subprocess.run(
        ["subunit2csv"], input=stream, check=False, capture_output=True
    ).stdout.decode()
    found: dict[str, list[str]] = {each: [] for each in ("passed", "failed", "skipped", "lost")}
    for row in csv.DictReader(listed.splitlines()):
        found[RESULTS.get(row["status"], "failed")].append(row["test"])
    reported = {name for names in found.values() for name in names}
    found["lost"] = [
        each for each in wanted if each not in reported and class_of(each) not in reported
    ]
    return found


def class_of(test: str) -> str:
    """The name under which a class is skipped or fails as a whole."""
    return f"setUpClass ({test.partition('[')[0].rpartition('.')[0]})"


def main(excluded: list[str], patterns: list[str]) -> None:
    environment = prepare(excluded)
    if not (HOME / ".stestr").exists():
        run(environment, "stestr", "init")
    selection = ("--exclude-list", "excluded", "--regex", "|".join(patterns))
    wanted = selected(environment, selection)
    run(environment, "tempest", "run", "--concurrency", "2", *selection)
    sys.stdout.write(json.dumps(results(environment, wanted)) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
