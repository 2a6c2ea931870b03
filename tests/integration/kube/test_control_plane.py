"""The test control plane itself: it is real, persists its data, and audits requests."""

import os
import selectors
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltlab import errors, kubebuild
from tests.support import control_plane as harness
from tests.support import scratch
from tests.support.control_plane import ControlPlaneHarness

LIMIT_SECONDS = 60
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}


@pytest.fixture
def own_plane() -> Iterator[ControlPlaneHarness]:
    """For tests that stop things."""
    with ControlPlaneHarness(audit_level="Request") as plane:
        yield plane


def test_programs_tell_the_pinned_version(control_plane: ControlPlaneHarness) -> None:
    go_mod = (kubebuild.sources_directory() / "go.mod").read_text()
    version, major, minor = kubebuild.kubernetes_version(go_mod)

    reported = control_plane.request("GET", "/version")

    assert (reported["gitVersion"], reported["major"], reported["minor"]) == (
        version,
        major,
        minor,
    )
    assert f"Client Version: {version}" in control_plane.kubectl("version")
    for program in ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"):
        command = [str(control_plane.programs / program), "--version"]
        assert subprocess.check_output(command, text=True).split() == ["Kubernetes", version]


def test_restart_keeps_data_and_address(own_plane: ControlPlaneHarness) -> None:
    namespace = own_plane.create_namespace()
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    created = own_plane.request("POST", path, CONFIG_MAP)

    own_plane.restart_apiserver()
    after_stop = own_plane.request("GET", f"{path}/kept")
    own_plane.restart_apiserver(kill=True)
    after_kill = own_plane.request("GET", f"{path}/kept")

    assert created["metadata"]["uid"] == after_stop["metadata"]["uid"]
    assert after_stop == after_kill


def test_stopped_apiserver_refuses_connections_until_started(
    own_plane: ControlPlaneHarness,
) -> None:
    own_plane.stop_apiserver()

    with pytest.raises(ConnectionRefusedError):
        own_plane.request("GET", "/version")
    own_plane.start_apiserver()

    assert own_plane.request("GET", "/version")["major"] == "1"


def test_two_control_planes_do_not_see_each_other(
    control_plane: ControlPlaneHarness, own_plane: ControlPlaneHarness
) -> None:
    namespace = own_plane.create_namespace("only-here")

    assert namespace in own_plane.kubectl("get", "namespaces")
    assert namespace not in control_plane.kubectl("get", "namespaces")
    with pytest.raises(harness.KubectlError, match="certificate signed by unknown authority"):
        own_plane.kubectl("get", "namespaces", f"--server={control_plane.url}")


def test_rights_start_with_a_binding(control_plane: ControlPlaneHarness, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    with pytest.raises(harness.HttpError, match="403"):
        control_plane.request("GET", path, user="reader")

    role = ("--verb=list", "--resource=configmaps")
    control_plane.kubectl("create", "role", "read", *role, "-n", namespace)
    binding = ("--role=read", "--user=reader")
    control_plane.kubectl("create", "rolebinding", "read", *binding, "-n", namespace)

    control_plane.wait_until(
        lambda: _is_allowed(control_plane, path, user="reader"), what="letting the reader in"
    )


def test_service_account_token_is_accepted(
    control_plane: ControlPlaneHarness, namespace: str
) -> None:
    control_plane.kubectl("create", "serviceaccount", "robot", "-n", namespace)

    kubeconfig = control_plane.token_kubeconfig("robot", namespace=namespace)

    who = control_plane.kubectl("auth", "whoami", "-o", "json", kubeconfig=kubeconfig)
    assert f"system:serviceaccount:{namespace}:robot" in who


def test_everything_ends_with_the_process_that_started_it() -> None:
    script = (
        "from tests.support.control_plane import ControlPlaneHarness as H\n"
        "import signal\n"
        "plane = H().__enter__()\n"
        "print(plane.etcd.pid, plane.apiserver.pid, plane.directory, flush=True)\n"
        "signal.pause()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout
        *pids, directory = owner.stdout.readline().split()
        children = [os.pidfd_open(int(pid)) for pid in pids]
        owner.kill()

    with selectors.DefaultSelector() as ended:
        for child in children:
            ended.register(child, selectors.EVENT_READ)
        while ended.get_map():
            gone = ended.select(timeout=LIMIT_SECONDS)
            assert gone, "a child outlived its parent"
            for key, _ in gone:
                ended.unregister(key.fd)
                os.close(key.fd)
    scratch.remove_orphans(Path(directory).name)
    assert not Path(directory).exists()


def test_failed_start_names_the_log_and_shows_its_end() -> None:
    plane = ControlPlaneHarness(apiserver_flags={"no-such-flag": 1})

    with pytest.raises(errors.LabError, match="unknown flag: --no-such-flag") as caught, plane:
        pass

    assert str(plane.apiserver.log) in caught.value.message
    assert plane.apiserver.log.exists()
    assert not (plane.directory / "pki").exists()
    shutil.rmtree(plane.directory)


def _is_allowed(plane: ControlPlaneHarness, path: str, *, user: str) -> bool:
    try:
        plane.request("GET", path, user=user)
    except harness.HttpError:
        return False
    return True
