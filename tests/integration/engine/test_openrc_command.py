"""`cobalt openrc` of a Keystone on a real API server: what it prints, writes and reports as missing."""

from pathlib import Path

import pytest
import yaml

from cobaltcore.api import keystone
from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Key
from tests.support import asking, openstack
from tests.support.control_plane import ControlPlaneHarness

PASSWORD = "p'a$s word"
HOST = "keystone.{}.svc.cluster.local"


@pytest.fixture
def cloud(plane: ControlPlaneHarness, space: str) -> str:
    """A namespace with a Keystone that reports its endpoint, as its operator leaves it."""
    wanted = openstack.lab_sized(openstack.example("Keystone"), space)
    wanted["spec"]["bootstrap"].pop("publicEndpoint", None)
    wanted["spec"]["tls"] = {"enabled": True, "issuerRef": {"name": "ca"}}
    service = {
        "apiVersion": "v1", "kind": SERVICE.kind,
        "metadata": {
            "name": "keystone", "namespace": space, "labels": names.labels("keystone", "keystone")
        },
        "spec": {"ports": [{"port": 5000}]},
    }  # fmt: skip
    login = {"username": "admin", "password": PASSWORD}
    asking.create(
        plane,
        wanted,
        service,
        openstack.a_secret(Key(space, "keystone-admin-login"), **login),
        openstack.a_secret(Key(space, "keystone-tls"), **{"ca.crt": "the authority"}),
    )
    url = f"https://{HOST.format(space)}:5000"
    asking.patch_status(plane, space, f"{keystone.KIND}/keystone", {"endpoint": url})
    return space


def openrc(plane: ControlPlaneHarness, *words: str) -> str:
    code, text = asking.cobalt(plane, "openrc", *words)
    assert code == 0, text
    return text


def test_a_clouds_yaml_with_the_login_the_ca_file_and_the_names_that_must_resolve(
    plane: ControlPlaneHarness, cloud: str, tmp_path: Path
) -> None:
    file, ca = tmp_path / "clouds.yaml", tmp_path / "ca.crt"
    how = ("-n", cloud, "-o", "clouds", "--cloud", "here", "--to", str(file), "--cacert", str(ca))
    text = openrc(plane, *how)
    assert PASSWORD not in text
    address = asking.get(plane, cloud, "service", "keystone")["spec"]["clusterIP"]
    assert f"{address} {HOST.format(cloud)}" in text
    entry = yaml.safe_load(file.read_text())["clouds"]["here"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert entry["auth"]["auth_url"] == f"https://{HOST.format(cloud)}:5000/v3"
    assert entry["auth"]["password"] == PASSWORD
    assert (entry["cacert"], ca.read_text()) == (str(ca), "the authority")


def test_a_public_endpoint_is_what_clients_use(
    plane: ControlPlaneHarness, cloud: str, tmp_path: Path
) -> None:
    public = '{"spec":{"bootstrap":{"publicEndpoint":"https://identity.example.com/v3"}}}'
    plane.kubectl("patch", "-n", cloud, f"{keystone.KIND}/keystone", "--type=merge", "-p", public)
    text = openrc(plane, "-n", cloud, "--cacert", str(tmp_path / "ca.crt"))
    assert "export OS_AUTH_URL=https://identity.example.com/v3" in text


def test_a_keystone_without_an_administrator_is_named_with_the_next_command(
    plane: ControlPlaneHarness, space: str
) -> None:
    asking.create(plane, openstack.lab_sized(openstack.example("Keystone"), space))
    code, text = asking.cobalt(plane, "openrc", "-n", space)
    assert code == 1
    assert f"Keystone 'keystone' in namespace {space!r} has no administrator yet" in text
    assert f"cobalt why Keystone/keystone --namespace {space}" in text


def test_no_cloud_is_named(plane: ControlPlaneHarness, space: str) -> None:
    code, text = asking.cobalt(plane, "openrc", "-n", space)
    assert code == 1
    assert f"there is no Keystone in namespace {space!r}" in text
