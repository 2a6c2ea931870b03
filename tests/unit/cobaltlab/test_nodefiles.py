"""Files of nodes: complete, stable, and changed only with their inputs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cobaltlab import initconfig, manifests, mounts, nodefiles, record, statedir, subnets

IMAGES = {"pause": "lab.cobaltcore.local/pause:1", "coredns": "lab.cobaltcore.local/coredns:1"}
INSTANCE = record.Instance(name="lab", index=1, nodes=3)


@pytest.fixture
def state_dir(tmp_path: Path) -> statedir.StateDir:
    return statedir.StateDir("lab", tmp_path / "lab")


def node(state_dir: statedir.StateDir, name: str) -> initconfig.InitConfig:
    return initconfig.decode((state_dir.node(name) / "node.json").read_text())


def commands(state_dir: statedir.StateDir, name: str) -> dict[str, list[str]]:
    return {daemon.name: daemon.command for daemon in node(state_dir, name).daemons}


def test_the_first_node_also_runs_the_control_plane(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    everywhere = {"containerd", "pause-image", "kubelet", "kube-proxy", "api-ready"}
    assert set(commands(state_dir, "hypervisor-2")) == everywhere
    assert set(commands(state_dir, "control-plane")) == everywhere | {
        *("etcd", "kube-apiserver", "api-ready", "kube-controller-manager", "kube-scheduler")
    }


def test_every_node_enforces_network_policies_if_asked_for(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, replace(INSTANCE, network_policies=True), IMAGES)
    for name in ("control-plane", "hypervisor-1", "hypervisor-2"):
        command = commands(state_dir, name)["network-policies"]
        assert command[0] == str(state_dir.programs / "network-policies")
        assert f"--hostname-override={name}" in command


def test_writing_again_changes_nothing(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    before = {path: path.read_bytes() for path in state_dir.directory.rglob("*") if path.is_file()}
    assert nodefiles.write(state_dir, INSTANCE, IMAGES) == []
    assert {p: p.read_bytes() for p in state_dir.directory.rglob("*") if p.is_file()} == before


def test_an_added_node_changes_no_other(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    assert nodefiles.write(state_dir, replace(INSTANCE, nodes=4), IMAGES) == []
    assert node(state_dir, "hypervisor-3").number == 3


def test_nodes_bind_mount_the_images_that_they_link_to(
    state_dir: statedir.StateDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodefiles.write(state_dir, replace(INSTANCE, images=str(tmp_path / "images")), IMAGES)
    assert node(state_dir, "hypervisor-1").bind_mounts == [str(state_dir.directory)]

    monkeypatch.setattr(mounts, "PRIVATE", (str(tmp_path / "private"),))
    hidden = tmp_path / "private" / "images"
    nodefiles.write(state_dir, replace(INSTANCE, images=str(hidden)), IMAGES)
    assert node(state_dir, "hypervisor-1").bind_mounts == [str(state_dir.directory), str(hidden)]
    assert hidden.is_dir()


def test_a_changed_option_reports_the_affected_nodes(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    assert nodefiles.write(state_dir, replace(INSTANCE, audit=True), IMAGES) == ["control-plane"]
    flags = commands(state_dir, "control-plane")["kube-apiserver"]
    assert any(flag.startswith("--audit-log-path=") for flag in flags)


def test_every_file_in_a_daemon_s_flags_exists(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, replace(INSTANCE, audit=True), IMAGES)
    created_by_daemons = ("data-dir", "audit-log-path")
    for name in ("control-plane", "hypervisor-1"):
        for command in commands(state_dir, name).values():
            values = [word.partition("=") for word in command[1:]]
            paths = [
                Path(value)
                for flag, _, value in values
                if value.startswith(str(state_dir.directory))
                and not flag.endswith(created_by_daemons)
            ]
            assert [path for path in paths if not path.exists()] == []


def test_secrets_are_private_to_their_owner(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    secret = [*state_dir.directory.rglob("*.key"), *state_dir.directory.rglob("*.kubeconfig")]
    assert len(secret) > 10
    assert [path for path in secret if path.stat().st_mode & 0o077] == []


def test_each_kubelet_has_its_own_cgroup(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    roots = [
        yaml.safe_load(path.read_text())["cgroupRoot"]
        for path in sorted(state_dir.directory.glob("nodes/*/kubelet.yaml"))
    ]
    assert roots == [
        "/cobaltcore/lab/control-plane",
        "/cobaltcore/lab/hypervisor-1",
        "/cobaltcore/lab/hypervisor-2",
    ]


def test_nodes_have_no_default_route(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    routes = [line for line in node(state_dir, "hypervisor-1").network if line.startswith("route")]
    assert len(routes) == subnets.MAX_NODES
    assert not any("default" in line or "0.0.0.0/0" in line for line in routes)


def test_each_node_has_its_own_pod_subnet(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    subnets = {
        json.loads(path.read_text())["plugins"][0]["ipam"]["ranges"][0][0]["subnet"]
        for path in state_dir.directory.rglob("10-pods.conflist")
    }
    assert subnets == {"100.70.0.0/24", "100.70.1.0/24", "100.70.2.0/24"}


def test_roles_of_nodes() -> None:
    specs = nodefiles.node_specs(INSTANCE)
    assert [nodefiles.roles(spec, INSTANCE) for spec in specs] == [
        [manifests.CONTROL_PLANE],
        [manifests.HYPERVISOR],
        [manifests.HYPERVISOR],
    ]
    alone = replace(INSTANCE, nodes=1)
    assert nodefiles.roles(specs[0], alone) == [manifests.CONTROL_PLANE, manifests.HYPERVISOR]


def test_node_json_round_trips(state_dir: statedir.StateDir) -> None:
    nodefiles.write(state_dir, INSTANCE, IMAGES)
    found = node(state_dir, "control-plane")
    assert initconfig.decode(initconfig.encode(found)) == found
