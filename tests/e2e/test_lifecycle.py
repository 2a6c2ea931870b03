"""Stop, crash, restart and purge of labs."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from cobaltlab import network, subnets
from tests.support import traces, workloads
from tests.support.lab import CommandFailed, Lab, eventually

VOLUMES = "root/var/lib/cobaltcore-volumes"


@pytest.mark.parametrize("how", ["down", "crash"])
def test_objects_and_volumes_survive(lab: Lab, namespace: str, how: str) -> None:
    keep = ["sh", "-c", "echo boot >> /data/boots && exec sleep 1000000"]
    pod = workloads.pod(
        "keeper", lab.image, command=keep, mounts=[workloads.claimed("data", "/data")]
    )
    lab.create(namespace, workloads.claim("data"), pod)
    lab.wait_for_pod(namespace, "keeper")
    before = _identities(lab, namespace)
    volume = lab.get("pvc", "-n", namespace, "data")["spec"]["volumeName"]

    if how == "down":
        lab.down()
    else:
        lab.kill_everything()
    assert lab.up()["nodes"] == ["control-plane", "hypervisor-1", "hypervisor-2"]

    assert before <= _identities(lab, namespace)
    assert lab.get("pvc", "-n", namespace, "data")["spec"]["volumeName"] == volume

    def boots() -> int:
        answer = lab.attempt("exec", "-n", namespace, "keeper", "--", "cat", "/data/boots")
        return len(answer.split()) if answer.split().count("boot") > 1 else 0

    assert eventually(boots, "the pod is restarted with the same volume") == 2


def test_purge_leaves_nothing_behind(other_lab: Lab) -> None:
    before, own = traces.take(other_lab.name), traces.namespaces([os.getpid()])
    other_lab.up()
    other_lab.load_image()
    pod = workloads.pod("user", other_lab.image, mounts=[workloads.claimed("data", "/data")])
    other_lab.create("default", workloads.claim("data"), pod)
    other_lab.wait_for_pod("default", "user")
    pids = other_lab.processes()
    processes = traces.identities(pids)
    namespaces = traces.namespaces(pids) - own
    assert {"links", "routes", "cgroups"} <= {
        each.partition(":")[0] for each in traces.take(other_lab.name).added_since(before)
    }
    assert len(namespaces) > 3 * len(traces.NAMESPACES)

    other_lab.down("--purge")

    assert traces.alive(processes) == set()
    assert traces.take(other_lab.name).added_since(before) == set()
    eventually(lambda: not namespaces & traces.all_namespaces(), "all namespaces are deleted")
    assert not other_lab.state_dir.directory.exists()


def test_a_stopped_lab_keeps_its_data_and_blackholes_its_addresses(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    block = subnets.Subnets(other_lab.state_dir.require_record().index).block
    other_lab.down()
    assert other_lab.processes() == {}
    assert block in network.own_routes()
    route = subprocess.run(
        ["ip", "route", "get", str(block[10])], capture_output=True, text=True, check=False
    )
    assert route.returncode != 0
    with pytest.raises(CommandFailed, match="is stopped"):
        other_lab.cobalt("kubectl", "get", "nodes")


def test_two_labs_run_side_by_side(lab: Lab, other_lab: Lab) -> None:
    result = other_lab.up("--nodes", "1")
    assert result["server"] != lab.up()["server"]
    assert lab.ready_nodes() == {"control-plane", "hypervisor-1", "hypervisor-2"}
    assert other_lab.ready_nodes() == {"control-plane"}
    roles = other_lab.get("node", "control-plane")["metadata"]["labels"]
    assert "node-role.kubernetes.io/hypervisor" in roles
    other_lab.down("--purge")
    assert len(lab.ready_nodes()) == 3


def test_a_node_is_added_to_a_running_lab(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    first = other_lab.node("control-plane").pid()
    other_lab.up("--nodes", "2")
    assert other_lab.ready_nodes() == {"control-plane", "hypervisor-1"}
    assert other_lab.node("control-plane").pid() == first
    with pytest.raises(CommandFailed, match="cannot shrink to 1"):
        other_lab.up("--nodes", "1")


def test_leftovers_of_a_lab_without_directory_are_removed(other_lab: Lab, tmp_path: Path) -> None:
    lost = Lab(tmp_path / "lost")
    lost.up("--nodes", "1")
    shutil.rmtree(lost.state_dir.directory)
    assert lost.processes()
    assert lost.name in {each["name"] for each in lost.status()["leftovers"]}
    other_lab.up("--nodes", "1")
    assert lost.processes() == {}
    assert lost.name not in {owner.name for owner in network.bridge_owners()}
    assert lost.name not in {each["name"] for each in lost.status()["leftovers"]}


@pytest.mark.parametrize("after", ["binaries", "network", "configuration", "nodes", "API server"])
def test_an_interrupted_start_is_resumed(other_lab: Lab, after: str) -> None:
    command = other_lab.command("up", "--until", "cluster", "--nodes", "1", "--json")
    with subprocess.Popen(
        command, env=other_lab.environment, stdout=subprocess.PIPE, text=True
    ) as starting:
        assert starting.stdout
        for line in starting.stdout:
            event = json.loads(line)
            if event.get("phase") == after and event["state"] == "done":
                starting.send_signal(signal.SIGKILL)
                break
    other_lab.up("--nodes", "1")
    assert other_lab.ready_nodes() == {"control-plane"}


def test_changed_options_restart_the_node(other_lab: Lab) -> None:
    other_lab.up("--nodes", "1")
    log = other_lab.state_dir.node("control-plane") / "log" / "audit.log"
    assert not log.exists()
    other_lab.up("--audit")
    other_lab.kubectl("get", "nodes")
    eventually(lambda: "kubectl" in log.read_text(), "requests are in the audit log")


def _identities(lab: Lab, namespace: str) -> set[str]:
    """Objects that a restart must not replace, without those that are being deleted."""
    kinds = "pvc,deployments,services,serviceaccounts,secrets,configmaps"
    found = [
        *lab.get("nodes")["items"],
        *lab.get(kinds, "-n", namespace)["items"],
        *lab.get(kinds, "-n", "kube-system")["items"],
        lab.get("namespace", namespace),
    ]
    return {each["metadata"]["uid"] for each in found}
