from typing import Any

import pytest

from cobaltcore.api import cinder
from cobaltcore.engine import ceph
from cobaltcore.engine.desired.volumes import Secret
from tests.support import openstack, planning

TWO_CELLS = [{"name": "cell1"}, {"name": "cell2"}]


def test_nova_compute_has_no_way_to_a_database() -> None:
    scope = planning.scope(planning.an_object("Nova"))
    assert not {"database", "api_database"} & set(planning.options(scope, "nova.conf", "compute"))
    secrets = planning.secret_options(scope, "compute")
    assert not [name for name in secrets if "database" in name]
    assert secrets["DEFAULT"]["transport_url"].startswith("rabbit://")


def test_every_login_uses_the_application_credential() -> None:
    scope = planning.scope(planning.an_object("Nova"))
    found = planning.options(scope, "nova.conf")
    secrets = planning.secret_options(scope)
    for section in ("keystone_authtoken", "service_user", "placement", "neutron", "cinder"):
        assert found[section]["auth_type"] == "v3applicationcredential"
        assert secrets[section]["application_credential_secret"] == openstack.PRIVATE


def test_another_user_can_be_named_for_a_service_that_nova_calls() -> None:
    service_auth = {"neutronServiceUserRef": {"name": "network-admin"}}
    scope = planning.scope(planning.an_object("Nova", serviceAuth=service_auth))
    needed = {need.name: need.keys for need in scope.service.secrets(scope.spec)}
    assert "network-admin-keystone-credentials" in needed
    for (_, key), content in scope.observed.contents.items():
        if key.name == "network-admin-keystone-credentials":
            content["data"]["application_credential_id"] = "b3RoZXI="
    for name in ("", "compute"):
        secrets = planning.secret_options(scope, name)
        assert secrets["neutron"]["application_credential_id"] == "other"
        assert secrets["placement"]["application_credential_id"] == "5ad17e"


def test_disks_in_ceph_use_the_key_that_libvirt_has() -> None:
    scope = planning.scope(planning.an_object("Nova"))
    libvirt = planning.options(scope, "nova.conf", "compute")["libvirt"]
    assert libvirt["images_type"] == "rbd"
    assert libvirt["images_rbd_pool"] == "vms"
    assert libvirt["rbd_user"] == "nova"
    assert libvirt["rbd_secret_uuid"] == ceph.libvirt_secret("openstack", "nova")


def test_disks_on_the_node_need_no_ceph() -> None:
    scope = planning.scope(planning.an_object("Nova", storage={"backend": "local"}))
    assert "images_type" not in planning.options(scope, "nova.conf", "compute")["libvirt"]
    assert planning.rendered(scope, "compute").secret_files == {}


def test_how_servers_run_is_found_out_on_each_node_unless_it_is_set() -> None:
    scope = planning.scope(planning.an_object("Nova", compute={"virtualization": "qemu"}))
    libvirt = planning.options(scope, "nova.conf", "compute")["libvirt"]
    assert (libvirt["virt_type"], libvirt["cpu_mode"]) == ("qemu", "none")
    auto = planning.scope(planning.an_object("Nova", compute={"virtualization": "auto"}))
    assert "virt_type" not in planning.options(auto, "nova.conf", "compute")["libvirt"]
    (agent,) = [each for each in auto.workloads if each.component == "compute"]
    assert "/var/lib/openstack-state/node/virtualization.conf" in agent.command
    assert agent.agent is not None
    init = [each.name for each in agent.agent.init_containers]
    assert init == ["libvirt-wait", "virtualization"]


@pytest.mark.parametrize(
    "tls",
    [
        None,
        {"enabled": False},
        {"enabled": True, "secretRef": {"name": "given"}},
        {"enabled": True, "issuerRef": {"name": "ca", "kind": "Issuer"}},
    ],
)
def test_migrations_are_encrypted_whatever_the_endpoint_is(tls: dict[str, Any] | None) -> None:
    scope = planning.scope(planning.an_object("Nova", **({"tls": tls} if tls else {})))
    options = planning.options(scope, "nova.conf", "compute")["libvirt"]
    assert options["live_migration_scheme"] == "tls"
    assert options["live_migration_with_native_tls"] == "true"


def test_libvirt_learns_the_keys_of_cinder_too() -> None:
    scope = planning.scope(planning.an_object("Nova"), (cinder.KIND, planning.an_object("Cinder")))
    (agent,) = [each for each in scope.workloads if each.component == "libvirt-secrets"]
    known = [argument.split(":")[:2] for argument in agent.command[3:]]
    assert known == [[ceph.libvirt_secret("openstack", user), user] for user in ("cinder", "nova")]
    assert "cinder-ceph-credentials" in [
        v.source.name for v in agent.volumes if isinstance(v.source, Secret)
    ]
    backend = planning.options(planning.scope(planning.an_object("Cinder")), "cinder.conf")[
        "ceph-rbd"
    ]
    assert backend["rbd_secret_uuid"] == known[0][0]


def test_another_cell_has_its_own_database_virtual_host_and_conductor() -> None:
    scope = planning.scope(planning.an_object("Nova", cells=TWO_CELLS))
    assert [each.name for each in scope.service.databases(scope.spec)] == [
        "nova", "nova_api", "nova_cell0", "nova_cell2",
    ]  # fmt: skip
    assert scope.service.virtual_hosts(scope.spec, "nova") == ["nova", "nova-cell2"]
    found = {each.component: each for each in scope.workloads}
    assert found["conductor"].config == found["novncproxy"].config == ""
    assert found["conductor-cell2"].config == found["novncproxy-cell2"].config == "cell-cell2"
    secrets = planning.secret_options(scope, "cell-cell2")
    assert secrets["database"]["connection"].endswith("/nova_cell2?charset=utf8")
    assert secrets["api_database"] == planning.secret_options(scope)["api_database"]
    assert secrets["DEFAULT"]["transport_url"].endswith("/nova-cell2")
    first, second = found["compute"].agent, found["compute-cell2"].agent
    assert first is not None
    assert second is not None
    assert (first.labels, first.labels_if_any) == ({}, {"nova.c5c3.io/cell": "cell1"})
    assert second.labels == {"nova.c5c3.io/cell": "cell2"}


def test_external_scheduler_is_configured_only_when_enabled() -> None:
    url = "https://cortex.example.com"
    for enabled in (True, False):
        scheduler = {"externalScheduler": {"enabled": enabled, "endpoint": url}}
        scope = planning.scope(planning.an_object("Nova", scheduler=scheduler))
        assert ("filter_scheduler" in planning.options(scope, "nova.conf")) is enabled


def test_the_user_for_glance_is_that_of_service_tokens() -> None:
    service_auth = {"glanceServiceUserRef": {"name": "images"}}
    scope = planning.scope(planning.an_object("Nova", serviceAuth=service_auth))
    for (_, key), content in scope.observed.contents.items():
        if key.name == "images-keystone-credentials":
            content["data"]["application_credential_id"] = "b3RoZXI="
    for name in ("", "compute"):
        login = planning.secret_options(scope, name)["service_user"]
        assert login["application_credential_id"] == "other"
