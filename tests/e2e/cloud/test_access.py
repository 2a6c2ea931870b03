"""Ways into a cloud from the machine of its lab: any client, logs of services, consoles of servers."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltlab import hostnames, osclient
from tests.support.cloud import DEMO, NAMESPACE, Cloud
from tests.support.lab import Lab, eventually, run

FETCH = """
import ssl, sys, urllib.request
trust = ssl.create_default_context(cafile="ca.crt")
print(urllib.request.urlopen(sys.argv[1], context=trust).read().decode())
"""
WITHIN = 120
KEYSTONE = "keystone.openstack.svc.cluster.local"


@pytest.fixture
def files(lab: Lab, tmp_path: Path) -> Path:
    """A clouds.yaml, the exports for a shell, the CA certificate, and /etc/hosts of this lab alone."""
    ca = ("--cacert", str(tmp_path / "ca.crt"), "--namespace", NAMESPACE)
    lab.cobalt("openrc", *ca, "-o", "clouds", "--to", str(tmp_path / "clouds.yaml"))
    (tmp_path / "openrc").write_text(lab.cobalt("openrc", *ca))
    text = hostnames.HOSTS.read_text()
    for each in hostnames.labs(text):
        if each != lab.name:
            text = hostnames.removed(text, each)
    addresses = {
        f"{each['metadata']['name']}.{NAMESPACE}.svc.cluster.local": each["spec"]["clusterIP"]
        for each in lab.get("services", "-n", NAMESPACE)["items"]
        if each["spec"]["clusterIP"] != "None"
    }
    (tmp_path / "hosts").write_text(hostnames.written(text, lab.name, addresses))
    return tmp_path


def script(files: Path, *commands: str) -> str:
    """Run commands of a shell with that /etc/hosts: another lab may have the names in the file."""
    mount = f"mount --bind {files}/hosts /etc/hosts"
    text = "\n".join(["set -e", mount, f"cd {files}", *commands])
    return run(["unshare", "--mount", "bash", "-c", text], {"PATH": "/usr/sbin:/usr/bin:/bin"})


def client(*arguments: str) -> str:
    """The command of a client that knows nothing of ours."""
    python = osclient.ensure(report=lambda _: None)
    return shlex.join([str(python.with_name("openstack")), *arguments])


def test_up_wrote_the_names_of_the_catalogue(lab: Lab) -> None:
    text = hostnames.HOSTS.read_text()
    assert lab.name in hostnames.labs(text) or KEYSTONE in text, "another lab may have the names"


def test_a_client_on_the_host_logs_in_with_the_clouds_yaml(files: Path) -> None:
    assert (files / "clouds.yaml").stat().st_mode & 0o777 == 0o600
    listed = client("--os-cloud", "openstack", "server", "list", "-f", "value", "-c", "Name")
    assert DEMO in script(files, listed).split()


def test_a_shell_logs_in_with_the_exports(files: Path) -> None:
    listed = client("image", "list", "-f", "value", "-c", "Name")
    assert DEMO in script(files, ". ./openrc", listed).split()


def test_an_image_comes_from_a_file_on_the_host(cloud: Cloud, tmp_path: Path) -> None:
    """Its content arrives: Glance's checksum is that of the file."""
    disk = tmp_path / "disk.raw"
    disk.write_bytes(b"local file" * 100_000)
    how = ("--disk-format", "raw", "--container-format", "bare")
    created = cloud.get("image", "create", "--file", str(disk), *how, "from-host")
    try:
        cloud.wait_for_status("image", created["id"], "active")
        saved = tmp_path / "saved.raw"
        cloud.run("image", "save", "--file", str(saved), created["id"])
        assert saved.read_bytes() == disk.read_bytes()
    finally:
        cloud.run("image", "delete", created["id"])


def test_logs_are_those_of_all_pods_by_time(lab: Lab) -> None:
    everything = lab.cobalt("logs", "nova", "-n", NAMESPACE, "--tail", "20", "--timestamps")
    moments = [line.split()[0] for line in everything.splitlines()]
    assert moments == sorted(moments)
    pods = {line.split()[1].partition("/")[0] for line in everything.splitlines()}
    assert {"nova-api", "nova-conductor"} <= {each.rsplit("-", 2)[0] for each in pods}
    one = lab.cobalt("logs", "nova/conductor", "-n", NAMESPACE, "--since", "1h").splitlines()
    assert {each.partition("/")[0].rsplit("-", 2)[0] for each in one} == {"nova-conductor"}


@pytest.fixture
def followed(lab: Lab, tmp_path: Path) -> Iterator[Path]:
    """What `cobalt logs --follow` prints."""
    file = tmp_path / "followed"
    command = lab.command("logs", "keystone", "-n", NAMESPACE, "--follow", "--tail", "0")
    with file.open("wb") as target:
        process = subprocess.Popen(command, stdout=target, env=lab.environment)
        yield file
        process.terminate()
        process.wait()


def test_logs_are_followed_also_in_pods_that_start_later(
    lab: Lab, cloud: Cloud, followed: Path
) -> None:
    """Keystone writes a warning about the long password at each login."""

    def pods() -> set[str]:
        cloud.run("token", "issue")
        return {line.partition("/")[0] for line in followed.read_text().splitlines()}

    before = eventually(pods, "a login is followed", seconds=WITHIN)
    deployment = ("-n", NAMESPACE, "deployment/keystone-api")
    lab.kubectl("rollout", "restart", *deployment)
    lab.kubectl("rollout", "status", *deployment, "--timeout=300s")
    eventually(lambda: pods() - before, "a login to the new pod is followed", seconds=WITHIN)


def test_a_service_without_pods_is_named_with_those_that_have_some(lab: Lab) -> None:
    with pytest.raises(AssertionError, match=r"there are no pods of 'novva'[^$]*nova/conductor"):
        lab.cobalt("logs", "novva", "-n", NAMESPACE)


def test_the_console_of_a_server_is_printed(lab: Lab) -> None:
    assert "guest: ready" in lab.cobalt("console", DEMO, "-n", NAMESPACE)


def test_the_url_of_a_display_is_reachable_from_the_host(lab: Lab, files: Path) -> None:
    url = lab.cobalt("console", DEMO, "--url", "-n", NAMESPACE).strip()
    page = script(files, shlex.join([sys.executable, "-c", FETCH, url]))
    assert "noVNC" in page
