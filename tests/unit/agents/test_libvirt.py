"""libvirtd's agents: cgroups of servers, renewed certificates, the test of KVM."""

from pathlib import Path

from cobaltcore.agents.libvirt import certificates, cgroups, kvm


def test_the_cgroup_of_servers_is_a_sibling_of_that_of_all_pods(tmp_path: Path) -> None:
    for name in ("memory", "cpu", "systemd", "unified"):
        (tmp_path / name).mkdir()
    membership = (
        "4:memory:/top/node/kubepods/burstable/pod1/c\n"
        "3:cpu,cpuacct:/top/node/kubepods/burstable/pod1/c\n"
        "2:name=systemd:/top/node/kubepods/pod1/c\n"
        "1:rdma:/\n"
        "0::/top/node/kubepods/pod1/c\n"
    )
    found = set(cgroups.guest_groups(membership, tmp_path))
    own = Path("top/node/cobaltcore-guests")
    assert found == {tmp_path / name / own for name in ("memory", "cpu", "systemd", "unified")}


def test_the_cgroup_of_servers_in_one_hierarchy_of_systemd(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").touch()
    line = "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n"
    found = list(cgroups.guest_groups(line, tmp_path))
    assert found == [tmp_path / "cobaltcore-guests"]


def test_a_renewed_certificate_is_copied(tmp_path: Path) -> None:
    secret, node = tmp_path / "secret", tmp_path / "node"
    secret.mkdir()
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (secret / name).write_text("first")
    assert certificates.copy(secret, node)
    assert not certificates.copy(secret, node)
    (secret / "tls.crt").write_text("second")
    assert certificates.copy(secret, node)
    assert (node / "tls.crt").read_text() == "second"
    assert (node / "tls.key").stat().st_mode & 0o777 == 0o600


def test_the_boot_sector_is_one() -> None:
    assert len(kvm.BOOT_SECTOR) == 512
    assert kvm.BOOT_SECTOR[-2:] == b"\x55\xaa"
