"""libvirt on hypervisors: the objects, and how servers leave the pod's control groups."""

from pathlib import Path
from typing import Any

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DAEMON_SET
from cobaltcore.engine.desired import libvirt, names
from cobaltcore.engine.inside import start_libvirt
from cobaltcore.runtime.meta import Key, Kind

IMAGE = Image(repository="ghcr.io/c5c3/libvirt", tag="9.0.0")
LABELS = names.labels("c5c3", "lab", "libvirt")


def made(**given: Any) -> dict[Kind, Any]:
    wanted = libvirt.Libvirt(image=IMAGE, **given)
    return {d.kind: d.body for d in libvirt.objects(Key("n", "libvirt"), wanted, labels=LABELS)}


def test_without_encryption_the_listener_is_plain() -> None:
    found = made()
    assert CERTIFICATE not in found
    settings = found[CONFIG_MAP]["data"]["libvirtd.conf"]
    assert "listen_tcp = 1" in settings
    assert "listen_tls = 0" in settings


def test_with_an_issuer_migrations_are_encrypted_on_both_levels() -> None:
    found = made(issuer=IssuerRef(name="ca", kind="Issuer"), hosts=["h2", "h1"])
    assert found[CERTIFICATE]["spec"]["dnsNames"] == ["h1", "h2"]
    assert {"server auth", "client auth"} <= set(found[CERTIFICATE]["spec"]["usages"])
    data = found[CONFIG_MAP]["data"]
    assert "listen_tcp = 0" in data["libvirtd.conf"]
    assert "default_tls_x509_verify = 1" in data["qemu.conf"]
    volumes = found[DAEMON_SET]["spec"]["template"]["spec"]["volumes"]
    assert any(each.get("secret", {}).get("secretName") == "libvirt-tls" for each in volumes)


def test_servers_survive_because_state_and_processes_are_the_nodes() -> None:
    spec = made()[DAEMON_SET]["spec"]["template"]["spec"]
    assert spec["hostPID"] is True
    paths = {each["hostPath"]["path"] for each in spec["volumes"] if "hostPath" in each}
    assert {"/run/libvirt", "/var/lib/libvirt", "/var/lib/nova/instances"} <= paths


def test_the_group_of_servers_is_beside_that_of_all_pods(tmp_path: Path) -> None:
    for name in ("memory", "cpu", "systemd", "unified"):
        (tmp_path / name).mkdir()
    membership = (
        "4:memory:/top/node/kubepods/burstable/pod1/c\n"
        "3:cpu,cpuacct:/top/node/kubepods/burstable/pod1/c\n"
        "2:name=systemd:/top/node/kubepods/pod1/c\n"
        "1:rdma:/\n"
        "0::/top/node/kubepods/pod1/c\n"
    )
    found = set(start_libvirt.guest_groups(membership, tmp_path))
    own = Path("top/node/cobaltcore-guests")
    assert found == {tmp_path / name / own for name in ("memory", "cpu", "systemd", "unified")}


def test_the_group_of_servers_in_one_hierarchy_of_systemd(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").touch()
    line = "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n"
    found = list(start_libvirt.guest_groups(line, tmp_path))
    assert found == [tmp_path / "cobaltcore-guests"]


def test_a_renewed_certificate_is_taken_up(tmp_path: Path) -> None:
    given, kept = tmp_path / "given", tmp_path / "kept"
    given.mkdir()
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (given / name).write_text("first")
    assert start_libvirt.take_certificates(given, kept)
    assert not start_libvirt.take_certificates(given, kept)
    (given / "tls.crt").write_text("second")
    assert start_libvirt.take_certificates(given, kept)
    assert (kept / "tls.crt").read_text() == "second"
    assert (kept / "tls.key").stat().st_mode & 0o777 == 0o600


def test_the_boot_sector_is_one() -> None:
    assert len(start_libvirt.BOOT_SECTOR) == 512
    assert start_libvirt.BOOT_SECTOR[-2:] == b"\x55\xaa"
