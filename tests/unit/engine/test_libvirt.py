"""libvirt on hypervisors: the objects."""

from typing import Any

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DAEMON_SET
from cobaltcore.engine.desired import libvirt, names
from cobaltcore.runtime.meta import Key, Kind

IMAGE = Image(repository="ghcr.io/c5c3/libvirt", tag="9.0.0")
LABELS = names.labels("c5c3", "lab", "libvirt")


def objects(**settings: Any) -> dict[Kind, Any]:
    wanted = libvirt.Libvirt(image=IMAGE, **settings)
    return {d.kind: d.body for d in libvirt.objects(Key("n", "libvirt"), wanted, labels=LABELS)}


def test_without_encryption_the_listener_is_plain() -> None:
    found = objects()
    assert CERTIFICATE not in found
    settings = found[CONFIG_MAP]["data"]["libvirtd.conf"]
    assert "listen_tcp = 1" in settings
    assert "listen_tls = 0" in settings


def test_with_an_issuer_migrations_are_encrypted_on_both_levels() -> None:
    found = objects(issuer=IssuerRef(name="ca", kind="Issuer"), hosts=["h2", "h1"])
    assert found[CERTIFICATE]["spec"]["dnsNames"] == ["h1", "h2"]
    assert {"server auth", "client auth"} <= set(found[CERTIFICATE]["spec"]["usages"])
    data = found[CONFIG_MAP]["data"]
    assert "listen_tcp = 0" in data["libvirtd.conf"]
    assert "default_tls_x509_verify = 1" in data["qemu.conf"]
    volumes = found[DAEMON_SET]["spec"]["template"]["spec"]["volumes"]
    assert any(each.get("secret", {}).get("secretName") == "libvirt-tls" for each in volumes)


def test_servers_survive_because_state_and_processes_are_the_nodes() -> None:
    spec = objects()[DAEMON_SET]["spec"]["template"]["spec"]
    assert spec["hostPID"] is True
    paths = {each["hostPath"]["path"] for each in spec["volumes"] if "hostPath" in each}
    assert {"/run/libvirt", "/var/lib/libvirt", "/var/lib/nova/instances"} <= paths
