"""libvirt on hypervisors: the objects."""

from typing import Any

from cobaltcore.api.blocks import Image
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DAEMON_SET
from cobaltcore.engine.desired import libvirt, names
from cobaltcore.runtime.meta import Key, Kind

IMAGE = Image(repository="ghcr.io/c5c3/libvirt", tag="9.0.0")
LABELS = names.labels("c5c3", "lab", "libvirt")


def objects(**settings: Any) -> dict[Kind, Any]:
    wanted = libvirt.Libvirt(image=IMAGE, **settings)
    return {d.kind: d.body for d in libvirt.objects(Key("n", "libvirt"), wanted, labels=LABELS)}


def test_the_listener_admits_only_the_subject_of_hypervisors() -> None:
    wanted = libvirt.Libvirt(image=IMAGE, hosts=["h2", "h1", "10.0.0.1"])
    found = list(libvirt.objects(Key("n", "libvirt"), wanted, labels=LABELS))
    certificates = {d.key.name: d.body["spec"] for d in found if d.kind == CERTIFICATE}
    own = certificates["libvirt-tls"]
    assert (own["dnsNames"], own["ipAddresses"]) == (["h1", "h2"], ["10.0.0.1"])
    assert {"server auth", "client auth"} <= set(own["usages"])
    assert own["issuerRef"] == {"name": "libvirt-ca", "kind": "Issuer"}
    assert certificates["libvirt-ca"]["isCA"]
    (data,) = (d.body["data"] for d in found if d.kind == CONFIG_MAP)
    assert "listen_tcp = 0" in data["libvirtd.conf"]
    assert f'tls_allowed_dn_list = ["CN={own["commonName"]}"]' in data["libvirtd.conf"]
    assert "default_tls_x509_verify = 1" in data["qemu.conf"]


def test_without_hypervisors_there_is_an_authority_alone() -> None:
    assert objects()[CERTIFICATE]["metadata"]["name"] == "libvirt-ca"


def test_servers_survive_because_state_and_processes_are_the_nodes() -> None:
    spec = objects()[DAEMON_SET]["spec"]["template"]["spec"]
    assert spec["hostPID"] is True
    paths = {each["hostPath"]["path"] for each in spec["volumes"] if "hostPath" in each}
    assert {"/run/libvirt", "/var/lib/libvirt", "/var/lib/nova/instances"} <= paths
