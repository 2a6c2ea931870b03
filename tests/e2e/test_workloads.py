"""Workloads: volumes, CronJobs, webhooks, ServiceAccounts, limits."""

import base64
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cobaltcore.runtime import certificates
from tests.support import workloads
from tests.support.lab import CommandFailed, Lab, eventually

VOLUMES = "root/var/lib/cobaltcore-volumes"


def test_a_volume_keeps_its_data_and_is_deleted_with_its_claim(lab: Lab, namespace: str) -> None:
    mount = workloads.claimed("data", "/data")
    writer = workloads.pod(
        "writer",
        lab.image,
        node="hypervisor-2",
        command=["sh", "-c", "echo kept > /data/file && exec sleep 1000000"],
        mounts=[mount],
        securityContext={"runAsUser": 42424},
    )
    lab.create(namespace, workloads.claim("data"), writer)
    lab.wait_for_pod(namespace, "writer")
    volume = lab.get("pvc", "-n", namespace, "data")["spec"]["volumeName"]
    directory = lab.state_dir.node("hypervisor-2") / VOLUMES / volume
    assert (directory / "file").read_text() == "kept\n"

    lab.kubectl("delete", "pod", "-n", namespace, "writer")
    # Without a choice of node: the scheduler has to follow the volume.
    lab.create(namespace, workloads.pod("reader", lab.image, mounts=[mount]))
    lab.wait_for_pod(namespace, "reader")
    assert lab.kubectl("exec", "-n", namespace, "reader", "--", "cat", "/data/file") == "kept\n"
    assert lab.get("pod", "-n", namespace, "reader")["spec"]["nodeName"] == "hypervisor-2"

    lab.kubectl("delete", "pod", "-n", namespace, "reader")
    lab.kubectl("delete", "pvc", "-n", namespace, "data")
    eventually(lambda: not lab.get("pv", volume), "the volume is deleted")
    eventually(lambda: not directory.exists(), "its directory is deleted")


def test_a_retained_volume_is_kept(lab: Lab, namespace: str) -> None:
    pod = workloads.pod("user", lab.image, mounts=[workloads.claimed("data", "/data")])
    lab.create(namespace, workloads.claim("data"), pod)
    lab.wait_for_pod(namespace, "user")
    volume = lab.get("pvc", "-n", namespace, "data")["spec"]["volumeName"]
    retain = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
    lab.kubectl("patch", "pv", volume, "-p", json.dumps(retain))
    lab.kubectl("delete", "pod", "-n", namespace, "user")
    lab.kubectl("delete", "pvc", "-n", namespace, "data")
    eventually(lambda: lab.get("pv", volume)["status"]["phase"] == "Released", "released")
    node = lab.get("pv", volume)["metadata"]["labels"]["kubernetes.io/hostname"]
    assert (lab.state_dir.node(node) / VOLUMES / volume).exists()
    lab.kubectl("delete", "pv", volume)


def test_a_stateful_set_gets_a_volume_for_each_pod(lab: Lab, namespace: str) -> None:
    template = workloads.claim("data")
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "replicas": 3,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {
                    **workloads.pod_spec(
                        lab.image, container={"volumeMounts": [_mount("data", "/data")]}
                    ),
                },
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": template["spec"]}],
        },
    }
    lab.create(namespace, stateful_set)
    for number in range(3):
        lab.wait_for_pod(namespace, f"db-{number}")
    claims = lab.get("pvc", "-n", namespace)["items"]
    assert len({each["spec"]["volumeName"] for each in claims}) == 3


def test_a_cron_job_creates_jobs(lab: Lab, namespace: str) -> None:
    template = workloads.pod_spec(
        lab.image, command=["echo", "ran on schedule"], restartPolicy="Never"
    )
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "clock"},
        "spec": {
            "schedule": "* * * * *",
            "timeZone": "Europe/Berlin",
            "jobTemplate": {"spec": {"template": {"spec": template}}},
        },
    }
    lab.create(namespace, cron_job)

    def job() -> str:
        done = [
            each
            for each in lab.get("jobs", "-n", namespace)["items"]
            if each["status"].get("succeeded")
        ]
        return done[0]["metadata"]["name"] if done else ""

    name = eventually(job, "a Job of the CronJob succeeded")
    assert lab.kubectl("logs", "-n", namespace, f"job/{name}") == "ran on schedule\n"


def test_a_mutating_webhook_in_a_pod_is_called(lab: Lab, namespace: str) -> None:
    now = datetime.now(UTC)
    authority = certificates.authority("webhook", now=now, lifetime=timedelta(days=1))
    host = f"hook.{namespace}.svc"
    pair = certificates.serving(authority, [host], now=now, lifetime=timedelta(days=1))
    files = {
        "server.py": (Path(__file__).parent / "webhook_server.py").read_text(),
        "tls.crt": pair.certificate.decode(),
        "tls.key": pair.key.decode(),
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hook"},
        "stringData": files,
    }
    lab.create(
        namespace,
        secret,
        _python_pod("hook", lab.image),
        workloads.service("hook", port=443, target=8443, selector={"app": "hook"}),
    )
    lab.wait_for_pod(namespace, "hook")
    lab.create(namespace, _webhook(namespace, authority.certificate))
    try:

        def annotation() -> str:
            lab.kubectl("delete", "configmap", "-n", namespace, "changed", "--ignore-not-found")
            # Refused until the Service leads to the pod.
            lab.attempt("create", "configmap", "-n", namespace, "changed")
            found = lab.get("configmap", "-n", namespace, "changed")
            return str(found.get("metadata", {}).get("annotations", {}).get("hook", ""))

        assert eventually(annotation, "the webhook was called") == "was here"
    finally:
        lab.kubectl("delete", "mutatingwebhookconfiguration", namespace)


def test_a_pod_calls_the_api_server_with_its_service_account(lab: Lab, namespace: str) -> None:
    files = {"server.py": (Path(__file__).parent / "api_client.py").read_text()}
    config = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "client"},
        "stringData": files,
    }
    lab.create(namespace, config, _python_pod("client", lab.image, probe=False))
    user = f"system:serviceaccount:{namespace}:default"
    eventually(
        lambda: _log(lab, namespace, "client").startswith("403 "),
        "forbidden without a RoleBinding",
    )
    assert user in _log(lab, namespace, "client")
    lab.kubectl(
        "create", "rolebinding", "-n", namespace, "view", "--clusterrole=view",
        f"--serviceaccount={namespace}:default",
    )  # fmt: skip
    eventually(lambda: "\n200 " in _log(lab, namespace, "client"), "allowed by the RoleBinding")


def test_a_memory_limit_is_enforced(lab: Lab, namespace: str) -> None:
    pod = workloads.pod(
        "eater",
        lab.image,
        command=["sh", "-c", "x=1; while true; do x=$x$x; done"],
        container={"resources": {"limits": {"memory": "24Mi"}}},
        restartPolicy="Never",
    )
    lab.create(namespace, pod)

    def reason() -> str:
        statuses = lab.get("pod", "-n", namespace, "eater")["status"].get("containerStatuses", [])
        ended = [each["state"].get("terminated") for each in statuses]
        return str(ended[0]["reason"]) if ended and ended[0] else ""

    assert eventually(reason, "the container ended") == "OOMKilled"


def _log(lab: Lab, namespace: str, pod: str) -> str:
    try:
        return lab.kubectl("logs", "-n", namespace, pod)
    except CommandFailed:
        return ""


def _mount(name: str, path: str) -> dict[str, str]:
    return {"name": name, "mountPath": path}


def _python_pod(name: str, image: str, *, probe: bool = True) -> workloads.Object:
    """A pod that runs server.py from a Secret with the Python of the host."""
    places = ["/usr", "/lib", "/lib64", sys.base_prefix]
    mounts = [
        {"name": f"host-{i}", "path": path, "source": {"hostPath": {"path": path}}}
        for i, path in enumerate(dict.fromkeys(places))
        if Path(path).exists() and not (i == 3 and path == "/usr")
    ]
    mounts.append({"name": "files", "path": "/files", "source": {"secret": {"secretName": name}}})
    python = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    check = {"tcpSocket": {"port": 8443}, "periodSeconds": 1}
    container = {"env": [{"name": "PYTHONUNBUFFERED", "value": "1"}]}
    return workloads.pod(
        name,
        image,
        command=[python, "/files/server.py"],
        mounts=mounts,
        container={**container, **({"readinessProbe": check} if probe else {})},
    )


def _webhook(namespace: str, authority: bytes) -> workloads.Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [
            {
                "name": "hook.example.org",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {
                    "caBundle": base64.b64encode(authority).decode(),
                    "service": {"name": "hook", "namespace": namespace, "path": "/"},
                },
                "failurePolicy": "Fail",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ],
            }
        ],
    }
