"""Files of nodes: complete, stable, and changed only by what changes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cobaltcore.lab import home, layout, manifests, mounts, nodespec, ranges, record

IMAGES = {"pause": "lab.cobaltcore.local/pause:1", "coredns": "lab.cobaltcore.local/coredns:1"}
INSTANCE = record.Instance(name="lab", index=1, nodes=3)


@pytest.fixture
def place(tmp_path: Path) -> home.Home:
    return home.Home("lab", tmp_path / "lab")


def node(place: home.Home, name: str) -> nodespec.Node:
    return nodespec.decode((place.node(name) / "node.json").read_text())


def commands(place: home.Home, name: str) -> dict[str, list[str]]:
    return {daemon.name: daemon.command for daemon in node(place, name).daemons}


def test_the_first_node_runs_the_control_plane_too(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    everywhere = {"containerd", "pause-image", "kubelet", "kube-proxy", "api-ready"}
    assert set(commands(place, "hypervisor-2")) == everywhere
    assert set(commands(place, "control-plane")) == everywhere | {
        *("etcd", "kube-apiserver", "api-ready", "kube-controller-manager", "kube-scheduler")
    }


def test_writing_again_changes_nothing(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    before = {path: path.read_bytes() for path in place.directory.rglob("*") if path.is_file()}
    assert layout.write(place, INSTANCE, IMAGES) == []
    assert {p: p.read_bytes() for p in place.directory.rglob("*") if p.is_file()} == before


def test_one_more_node_changes_no_other(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    assert layout.write(place, replace(INSTANCE, nodes=4), IMAGES) == []
    assert node(place, "hypervisor-3").number == 3


def test_nodes_see_the_images_that_they_link_to(
    place: home.Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout.write(place, replace(INSTANCE, images=str(tmp_path / "images")), IMAGES)
    assert node(place, "hypervisor-1").carried == [str(place.directory)]

    monkeypatch.setattr(mounts, "PRIVATE", (str(tmp_path / "private"),))
    hidden = tmp_path / "private" / "images"
    layout.write(place, replace(INSTANCE, images=str(hidden)), IMAGES)
    assert node(place, "hypervisor-1").carried == [str(place.directory), str(hidden)]
    assert hidden.is_dir()


def test_a_new_setting_names_the_nodes_that_it_concerns(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    assert layout.write(place, replace(INSTANCE, audit=True), IMAGES) == ["control-plane"]
    flags = commands(place, "control-plane")["kube-apiserver"]
    assert any(flag.startswith("--audit-log-path=") for flag in flags)


def test_every_file_that_a_daemon_is_given_exists(place: home.Home) -> None:
    layout.write(place, replace(INSTANCE, audit=True), IMAGES)
    made_by_daemons = ("data-dir", "audit-log-path")
    for name in ("control-plane", "hypervisor-1"):
        for command in commands(place, name).values():
            values = [word.partition("=") for word in command[1:]]
            paths = [
                Path(value)
                for flag, _, value in values
                if value.startswith(str(place.directory)) and not flag.endswith(made_by_daemons)
            ]
            assert [path for path in paths if not path.exists()] == []


def test_no_secret_is_readable_by_others(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    secret = [*place.directory.rglob("*.key"), *place.directory.rglob("*.kubeconfig")]
    assert len(secret) > 10
    assert [path for path in secret if path.stat().st_mode & 0o077] == []


def test_each_kubelet_has_a_control_group_of_its_own(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    roots = [
        yaml.safe_load(path.read_text())["cgroupRoot"]
        for path in sorted(place.directory.glob("nodes/*/kubelet.yaml"))
    ]
    assert roots == [
        "/cobaltcore/lab/control-plane",
        "/cobaltcore/lab/hypervisor-1",
        "/cobaltcore/lab/hypervisor-2",
    ]


def test_nodes_have_no_default_route(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    routes = [line for line in node(place, "hypervisor-1").network if line.startswith("route")]
    assert len(routes) == ranges.MOST_NODES
    assert not any("default" in line or "0.0.0.0/0" in line for line in routes)


def test_pods_of_each_node_get_addresses_of_their_own(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    subnets = {
        json.loads(path.read_text())["plugins"][0]["ipam"]["ranges"][0][0]["subnet"]
        for path in place.directory.rglob("10-pods.conflist")
    }
    assert subnets == {"100.70.0.0/24", "100.70.1.0/24", "100.70.2.0/24"}


def test_roles_follow_the_place_of_a_node() -> None:
    seats = layout.seats(INSTANCE)
    assert [layout.roles(seat, INSTANCE) for seat in seats] == [
        [manifests.CONTROL_PLANE],
        [manifests.HYPERVISOR],
        [manifests.HYPERVISOR],
    ]
    alone = replace(INSTANCE, nodes=1)
    assert layout.roles(seats[0], alone) == [manifests.CONTROL_PLANE, manifests.HYPERVISOR]


def test_a_description_survives_being_written_down(place: home.Home) -> None:
    layout.write(place, INSTANCE, IMAGES)
    found = node(place, "control-plane")
    assert nodespec.decode(nodespec.encode(found)) == found
