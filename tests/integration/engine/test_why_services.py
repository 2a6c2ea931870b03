"""`cobalt why` for services by themselves: what cannot start at all, and who prevents it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cobaltcore.runtime import certificates
from tests.integration.engine.test_keystone import a_keystone, a_secret
from tests.support import asking, background, openstack, services
from tests.support.control_plane import ControlPlaneHarness
from tests.support.services import serving

KEYSTONE = "Keystone/keystone"


@pytest.fixture(scope="module")
def operated(plane: ControlPlaneHarness) -> Iterator[ControlPlaneHarness]:
    """The API server with running operators."""
    with background.running(lambda: serving(plane, ("keystone", "credentials", "glance"))):
        yield plane


def inputs(plane: ControlPlaneHarness, namespace: str) -> None:
    """Everything that a Keystone needs."""
    meta = {"name": "mariadb", "namespace": namespace}
    version = "k8s.mariadb.com/v1alpha1"
    asking.create(
        plane,
        {"apiVersion": version, "kind": "MariaDB", "metadata": meta, "spec": {"replicas": 1}},
        a_secret("keystone-db", namespace, username="k", password="p/+="),
        a_secret("keystone-admin", namespace, password="open-sesame"),
    )


def test_a_secret_that_does_not_exist(operated: ControlPlaneHarness, space: str) -> None:
    asking.create(operated, a_keystone(space))
    seen = asking.named(operated, KEYSTONE, space, "Secret 'keystone-db'", "does not exist")
    assert seen[:2] == ("Secret/keystone-db", "NotFound")


def test_a_secret_without_a_key(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    operated.kubectl("delete", "secret", "keystone-db", "-n", space)
    asking.create(operated, a_secret("keystone-db", space, username="k"))
    asking.create(operated, a_keystone(space))
    seen = asking.named(operated, KEYSTONE, space, "has no key 'password'")
    assert seen[:2] == (KEYSTONE, "WaitingForSecrets")


def test_the_aggregate_that_should_write_a_secret(
    operated: ControlPlaneHarness, space: str
) -> None:
    inputs(operated, space)
    operated.kubectl("delete", "secret", "keystone-db", "-n", space)
    spec = {"sources": [{"secretRef": {"name": "login"}}], "target": {"name": "keystone-db"}}
    meta = {"name": "merged", "namespace": space}
    asking.create(
        operated,
        {
            "apiVersion": "c5c3.io/v1alpha1",
            "kind": "SecretAggregate",
            "metadata": meta,
            "spec": spec,
        },
        a_keystone(space),
    )
    seen = asking.named(operated, KEYSTONE, space, "'login'")
    assert seen[1] == "SourcesMissing" or seen[0] == "Secret/login"


def test_a_quota(operated: ControlPlaneHarness, space: str) -> None:
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "0"}},
        "metadata": {"name": "small", "namespace": space},
    }  # fmt: skip
    asking.create(operated, quota)
    inputs(operated, space)
    asking.create(operated, a_keystone(space))
    seen = asking.named(operated, KEYSTONE, space, "exceeded quota: small")
    assert seen[1] == "FailedCreate"
    assert seen[0].startswith("Job/keystone-db-sync-")


@pytest.mark.parametrize("resource", ["pods", "configmaps"])
def test_a_webhook_that_does_not_answer(
    operated: ControlPlaneHarness, space: str, resource: str
) -> None:
    inputs(operated, space)
    asking.create(operated, a_webhook(space, resource))
    try:
        asking.create(operated, a_keystone(space))
        seen = asking.named(operated, KEYSTONE, space, "Service 'policy'")
        assert seen[:2] == ("Service/policy", "NotFound")
        path = asking.why(operated, KEYSTONE, space)["path"]
        assert path[-2]["kind"] == "ValidatingWebhookConfiguration"
    finally:
        operated.kubectl("delete", "validatingwebhookconfiguration", f"policy-{space}")


def a_webhook(namespace: str, resource: str) -> dict[str, Any]:
    rule = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": [resource],
    }  # fmt: skip
    hook = {
        "name": f"policy.{namespace}.example.com",
        "clientConfig": {"service": {"namespace": namespace, "name": "policy"}},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"policy-{namespace}"}, "webhooks": [hook],
    }  # fmt: skip


def test_a_migration_that_fails(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    spec = {"nodeSelector": {"nowhere": "1"}}
    asking.create(operated, a_keystone(space, **spec))
    seen = asking.named(operated, KEYSTONE, space, "is not scheduled")
    pod = seen[0].removeprefix("Pod/")
    ended = {"exitCode": 1, "reason": "Error", "message": "Table 'user' already exists"}
    container = {
        "name": "db-sync", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"terminated": ended},
    }  # fmt: skip
    status = {"phase": "Failed", "conditions": [], "containerStatuses": [container]}
    asking.patch_status(operated, space, f"pod/{pod}", status)
    seen = asking.named(operated, KEYSTONE, space, "Table 'user' already exists")
    assert seen[0].startswith("Job/keystone-db-sync-")


def test_a_database_that_no_operator_works_on(operated: ControlPlaneHarness, space: str) -> None:
    services.UNSERVED.add(("k8s.mariadb.com", space))
    inputs(operated, space)
    asking.create(operated, a_keystone(space))
    seen = asking.named(operated, KEYSTONE, space, "its operator does not work on it")
    assert seen[0] in {"Database/keystone", "User/keystone"}
    assert seen[1] == "NotReported"


def test_what_a_service_depends_on(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    depends = [{"kind": "Glance", "name": "glance", "condition": "Ready"}]
    asking.create(operated, a_keystone(space, dependsOn=depends))
    seen = asking.named(operated, KEYSTONE, space, "Glance 'glance' does not exist")
    assert seen[:2] == ("Glance/glance", "NotFound")


def test_a_spec_that_a_person_must_complete(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    asking.create(operated, a_keystone(space, tls={"enabled": True}))
    seen = asking.named(operated, KEYSTONE, space, "set issuerRef or secretRef")
    assert seen[:2] == (KEYSTONE, "IssuerMissing")
    assert " edit keystones" in asking.why(operated, KEYSTONE, space)["next"]


def test_a_policy_that_the_operator_refuses(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    policy = {"configMapRef": {"name": "rules"}}
    asking.create(operated, a_keystone(space, policyOverrides=policy))
    seen = asking.named(operated, KEYSTONE, space, "ConfigMap 'rules'")
    assert seen[:2] == (KEYSTONE, "PolicyInvalid")


def test_an_object_that_is_not_deleted(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    wanted = a_keystone(space)
    wanted["metadata"]["finalizers"] = ["example.com/stuck"]
    asking.create(operated, wanted)
    operated.kubectl("delete", "-n", space, "keystone/keystone", "--wait=false")
    seen = asking.named(operated, KEYSTONE, space, "example.com/stuck")
    assert seen[1] == "Deleting"


def test_operators_that_are_scaled_to_zero(operated: ControlPlaneHarness, space: str) -> None:
    meta = {"name": "cobalt-operators", "namespace": "c5c3-system"}
    labels = {"c5c3.io/platform": "cobalt-operators"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "cobalt", "image": "i"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    asking.create(
        operated,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**meta, "labels": labels},
            "spec": spec,
        },
    )
    try:
        # The operator of this kind does not run here.
        asking.create(operated, openstack.lab_sized(openstack.example("Placement"), space))
        seen = asking.named(operated, "Placement/placement", space, "scaled to 0 replicas")
        assert seen[:2] == ("Deployment/cobalt-operators", "ScaledToZero")
        found = asking.why(operated, "Placement/placement", space)
        assert found["next"] == (
            "kubectl -n c5c3-system scale deployments.apps cobalt-operators --replicas=1"
        )
    finally:
        operated.kubectl("delete", "-n", "c5c3-system", "deployment/cobalt-operators")


def test_a_certificate_that_has_expired(operated: ControlPlaneHarness, space: str) -> None:
    inputs(operated, space)
    asking.create(operated, expired(space))
    tls = {"enabled": True, "secretRef": {"name": "own-tls"}}
    asking.create(operated, a_keystone(space, tls=tls, replicas=1))
    asking.wait(
        lambda: asking.is_ready(operated, space, "keystone/keystone"),
        lambda: f"not Ready: {asking.why(operated, KEYSTONE, space)}",
    )
    (pod,) = asking.pods(operated, space, "api")
    crashed = asking.container_waits("api", "CrashLoopBackOff", exitCode=1, message="TLS failure")
    asking.patch_status(operated, space, f"pod/{pod}", crashed)
    seen = asking.named(operated, KEYSTONE, space, "the certificate in Secret 'own-tls' expired")
    assert seen[:2] == ("Secret/own-tls", "Expired")


def expired(namespace: str) -> dict[str, Any]:
    """A Secret with a certificate of last year."""
    issued = datetime.now(UTC) - timedelta(days=400)
    found = certificates.authority("test", now=issued, lifetime=timedelta(days=30))
    data = {"tls.crt": found.certificate.decode(), "tls.key": found.key.decode()}
    return a_secret("own-tls", namespace, **data)


@pytest.fixture
def node(operated: ControlPlaneHarness, space: str) -> Iterator[str]:
    """A simulated node on which nothing runs."""
    meta = {"name": f"node-{space}", "labels": {"type": "kwok"}}
    spec = {"unschedulable": True}
    asking.create(operated, {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec})
    name = str(meta["name"])
    asking.wait(
        lambda: asking.cause(operated, f"Node/{name}")[0] == "", lambda: f"{name} is not Ready"
    )
    yield name
    operated.kubectl("delete", "node", name)


def test_a_hypervisor(operated: ControlPlaneHarness, space: str, node: str) -> None:
    subject = f"Hypervisor/{node}"
    assert asking.cause(operated, subject)[1] == "NotLabelled"
    operated.kubectl("label", "node", node, "node-role.kubernetes.io/hypervisor=")
    assert asking.why(operated, subject)["ready"]
    labels = {"app.kubernetes.io/part-of": "cobaltcore", "app.kubernetes.io/name": "ovn"}
    pod = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "ovs", "namespace": space, "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "ovs-vswitchd", "image": "i"}]},
    }  # fmt: skip
    # Namespaces are looked at in which there is an object of ours.
    asking.create(operated, a_keystone(space), pod)
    asking.wait(
        lambda: asking.get(operated, space, "pod/ovs")["status"]["phase"] == "Running",
        lambda: "the pod does not run",
    )
    crashed = asking.container_waits("ovs-vswitchd", "CrashLoopBackOff", exitCode=1)
    asking.patch_status(operated, space, "pod/ovs", crashed)
    seen = asking.named(operated, subject, "", "ovs-vswitchd")
    assert seen[:2] == ("Pod/ovs", "CrashLoopBackOff")


def test_names_that_do_not_exist_are_errors(operated: ControlPlaneHarness, space: str) -> None:
    code, text = asking.cobalt(operated, "why", "Keystone/nothing", "-n", space)
    assert code == 1
    assert f"error: Keystone 'nothing' does not exist in namespace '{space}'" in text
    code, text = asking.cobalt(operated, "why", "Keystoan/keystone")
    assert code == 1
    assert 'there is no kind "Keystoan"' in text
    code, text = asking.cobalt(operated, "why", "keystone")
    assert code == 1
    assert "KIND/NAME" in text
