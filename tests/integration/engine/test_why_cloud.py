"""`cobalt why` in a control plane: each fault is injected where it happens, and named from the top."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import asking, background
from tests.support.control_plane import ControlPlaneHarness
from tests.support.services import serving

OPERATORS = ("c5c3", "keystone", "placement", "credentials")
PLANE = "ControlPlane/lab"
OFF = {"enabled": False}


@pytest.fixture(scope="module")
def cloud(plane: ControlPlaneHarness) -> Iterator[str]:
    """The namespace of a control plane that is Ready, and whose operators run."""
    namespace = plane.create_namespace("why")
    off = dict.fromkeys(("glance", "nova", "neutron", "cinder"), OFF)
    spec = {"global": {"replicas": 1}, "services": {**off, "placement": {"enabled": True}}}
    meta = {"name": "lab", "namespace": namespace}
    asking.create(
        plane,
        {"apiVersion": "c5c3.io/v1alpha1", "kind": "ControlPlane", "metadata": meta, "spec": spec},
    )
    with background.running(lambda: serving(plane, OPERATORS)):
        ready(plane, namespace)
        yield namespace


def ready(plane: ControlPlaneHarness, namespace: str) -> None:
    asking.wait(
        lambda: asking.is_ready(plane, namespace, "controlplane/lab"),
        lambda: f"not Ready: {asking.why(plane, PLANE, namespace)}",
    )


@pytest.fixture
def healthy(plane: ControlPlaneHarness, cloud: str) -> Iterator[str]:
    """The same, Ready before the test, and with new pods after it."""
    ready(plane, cloud)
    yield cloud
    plane.kubectl("delete", "pods", "-n", cloud, "--all", "--wait=false", "--grace-period=0")


def keystone_pod(plane: ControlPlaneHarness, namespace: str) -> str:
    selector = "app.kubernetes.io/name=keystone,app.kubernetes.io/component=api"
    (found,) = asking.get(plane, namespace, "pods", "-l", selector)["items"]
    return str(found["metadata"]["name"])


def test_a_ready_control_plane_is_ready(plane: ControlPlaneHarness, healthy: str) -> None:
    assert asking.why(plane, PLANE, healthy)["ready"]
    code, text = asking.cobalt(plane, "why", "cp/lab", "-n", healthy)
    assert (code, text) == (0, "ControlPlane 'lab' is ready\n")


PROGRAMS = [
    (
        "ImagePullBackOff",
        asking.container_waits("api", "ImagePullBackOff", 'Back-off pulling image "nowhere/k"'),
        'Back-off pulling image "nowhere/k"',
    ),
    (
        "CrashLoopBackOff",
        asking.container_waits(
            "api", "CrashLoopBackOff", exitCode=1,
            message="Access denied for user 'keystone'@'10.0.0.1'",
        ),
        "Access denied for user",
    ),
    (
        "CreateContainerConfigError",
        asking.container_waits("api", "CreateContainerConfigError", 'secret "x" not found'),
        'secret "x" not found',
    ),
    (
        "CrashLoopBackOff",
        asking.container_waits("api", "CrashLoopBackOff", exitCode=137),
        "exit code 137",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "status", "message"), PROGRAMS)
def test_a_container_that_does_not_run_is_named_with_its_pod(
    plane: ControlPlaneHarness, healthy: str, reason: str, status: dict[str, Any], message: str
) -> None:
    pod = keystone_pod(plane, healthy)
    asking.patch_status(plane, healthy, f"pod/{pod}", status)
    asking.named(plane, PLANE, healthy, message)
    found = asking.why(plane, PLANE, healthy)
    assert found["cause"]["name"] == pod
    assert found["cause"]["reason"] == reason
    path = [f"{each['kind']}/{each['name']}" for each in found["path"]]
    assert path == [PLANE, "Keystone/keystone", "Deployment/keystone-api", f"Pod/{pod}"]
    assert found["next"].startswith(f"kubectl -n {healthy} ")
    assert pod in found["next"]
    assert any("Keystone/keystone: DeploymentProgressing" in line for line in found["evidence"])


def test_a_probe_that_fails_is_named(plane: ControlPlaneHarness, healthy: str) -> None:
    pod = keystone_pod(plane, healthy)
    uid = asking.get(plane, healthy, f"pod/{pod}")["metadata"]["uid"]
    running = {"name": "api", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    status = {
        "conditions": asking.not_ready(),
        "containerStatuses": [{**running, "state": state}],
    }
    asking.patch_status(plane, healthy, f"pod/{pod}", status)
    note = "Readiness probe failed: HTTP probe failed with statuscode: 503"
    asking.create(plane, an_event(healthy, "Pod", pod, uid, "Unhealthy", note))
    asking.named(plane, PLANE, healthy, pod, "Unhealthy", "503")


def an_event(namespace: str, kind: str, name: str, uid: str, reason: str, note: str) -> Any:
    regarding = {
        "kind": kind, "name": name, "namespace": namespace, "uid": uid, "apiVersion": "v1",
    }  # fmt: skip
    return {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Warning", "reason": reason,
        "metadata": {"generateName": "test-", "namespace": namespace},
        "note": note, "regarding": regarding, "action": "Probe",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "kubelet", "reportingInstance": "n1",
    }  # fmt: skip


def test_a_database_whose_volume_is_full_is_named_before_what_needs_it(
    plane: ControlPlaneHarness, healthy: str
) -> None:
    database = asking.get(plane, healthy, "mariadb/mariadb")
    before = database["status"]
    asking.create(plane, a_stateful_set(healthy, database))
    asking.wait(
        lambda: bool(asking.get(plane, healthy, "pods", "-l", "of=mariadb")["items"]),
        lambda: "no pod of MariaDB",
    )
    full = asking.container_waits(
        "mariadb", "CrashLoopBackOff", exitCode=1, message="[ERROR] No space left on device"
    )
    try:
        asking.patch_status(plane, healthy, "pod/mariadb-0", full)
        down = {"type": "Ready", "status": "False", "reason": "Dead", "message": "0/1 pods ready"}
        asking.patch_status(plane, healthy, "mariadb/mariadb", {"conditions": [down]})
        seen = asking.named(plane, PLANE, healthy, "No space left on device")
        assert seen[:2] == ("Pod/mariadb-0", "CrashLoopBackOff")
        # Also for a service that fails because of it.
        crashed = asking.container_waits(
            "api", "CrashLoopBackOff", exitCode=1, message="Can't connect to MySQL server"
        )
        asking.patch_status(plane, healthy, f"pod/{keystone_pod(plane, healthy)}", crashed)
        seen = asking.named(plane, "Keystone/keystone", healthy, "No space left on device")
        assert seen[0] == "Pod/mariadb-0"
    finally:
        plane.kubectl("delete", "-n", healthy, "statefulset/mariadb", "--wait=true")
        asking.patch_status(plane, healthy, "mariadb/mariadb", before)


def a_stateful_set(namespace: str, owner: dict[str, Any]) -> dict[str, Any]:
    reference = {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    }  # fmt: skip
    meta = {"name": "mariadb", "namespace": namespace, "ownerReferences": [reference]}
    template = {
        "metadata": {"labels": {"of": "mariadb"}},
        "spec": {"containers": [{"name": "mariadb", "image": "i"}]},
    }
    spec = {
        "replicas": 1, "serviceName": "mariadb", "template": template,
        "selector": {"matchLabels": {"of": "mariadb"}},
    }  # fmt: skip
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def test_a_password_that_keystone_refuses_is_named_at_the_user(
    plane: ControlPlaneHarness, healthy: str
) -> None:
    user = "users.openstack.k-orc.cloud/placement-service-user"
    before = asking.get(plane, healthy, user)["status"]
    text = "401 Unauthorized: the password of admin in k-orc-clouds-yaml is wrong"
    down = {
        "type": "Available",
        "status": "False",
        "reason": "UnrecoverableError",
        "message": text,
    }
    try:
        asking.patch_status(plane, healthy, user, {"conditions": [down]})
        seen = asking.named(plane, PLANE, healthy, "401 Unauthorized")
        assert seen[:2] == ("User/placement-service-user", "UnrecoverableError")
    finally:
        asking.patch_status(plane, healthy, user, before)


def test_a_pod_that_fits_on_no_node_is_named_by_the_scheduler(
    plane: ControlPlaneHarness, healthy: str
) -> None:
    select_node(plane, healthy, {"nowhere": "1"})
    try:
        seen = asking.named(plane, PLANE, healthy, "is not scheduled", "node affinity/selector")
        assert seen[1] == "Unschedulable"
        assert seen[0].startswith("Pod/keystone-api-")
    finally:
        select_node(plane, healthy, None)


def select_node(plane: ControlPlaneHarness, namespace: str, labels: dict[str, str] | None) -> None:
    patch = json.dumps({"spec": {"services": {"keystone": {"nodeSelector": labels}}}})
    plane.kubectl("patch", "controlplane/lab", "-n", namespace, "--type=merge", "-p", patch)


def test_dns_without_a_server_is_named_when_programs_cannot_resolve(
    plane: ControlPlaneHarness, healthy: str
) -> None:
    crashed = asking.container_waits(
        "api", "CrashLoopBackOff", exitCode=1,
        message="Can't connect to 'mariadb': Name or service not known",
    )  # fmt: skip
    asking.patch_status(plane, healthy, f"pod/{keystone_pod(plane, healthy)}", crashed)
    seen = asking.named(plane, PLANE, healthy, "Service 'kube-dns'")
    assert seen[1] == "NotFound"


def test_a_second_control_plane_is_explained(plane: ControlPlaneHarness, healthy: str) -> None:
    meta = {"name": "second", "namespace": healthy}
    asking.create(
        plane,
        {"apiVersion": "c5c3.io/v1alpha1", "kind": "ControlPlane", "metadata": meta, "spec": {}},
    )
    try:
        seen = asking.named(plane, "ControlPlane/second", healthy, "has the ControlPlane 'lab'")
        assert seen[1] == "NamespaceOccupied"
    finally:
        plane.kubectl("delete", "-n", healthy, "controlplane/second", "--wait=true")
