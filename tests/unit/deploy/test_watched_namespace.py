"""Manifests of operators that serve one namespace: rights in it, and none in others."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.deploy import operators
from cobaltcore.deploy.values import Installation
from cobaltcore.engine import registry

WATCHED = "team"
WIDE = {"nodes", "nodes/finalizers"}
"""Resources without namespaces that operators need."""


def bodies(kind: str, *, namespace: str = "platform") -> list[Mapping[str, Any]]:
    installation = Installation(namespace, {"watchNamespace": WATCHED})
    return [each.body for each in operators.objects(installation) if each.kind.kind == kind]


def test_cluster_roles_allow_nothing_that_is_in_a_namespace() -> None:
    for role in bodies("ClusterRole"):
        for rule in role["rules"]:
            if rule["apiGroups"] == ["admissionregistration.k8s.io"] or rule["resources"] == [
                "clusterroles"
            ]:
                assert all(name.endswith(f".{WATCHED}") for name in rule["resourceNames"])
            else:
                assert {*rule["resources"]} <= WIDE


def test_every_operator_has_a_role_in_the_namespace() -> None:
    roles = {
        e["metadata"]["name"] for e in bodies("Role") if e["metadata"]["namespace"] == WATCHED
    }
    assert roles == {f"cobalt:operator:{each.name}" for each in registry.operators()}
    for binding in bodies("RoleBinding"):
        assert binding["roleRef"]["kind"] == "Role"
        assert {each["namespace"] for each in binding["subjects"]} == {"platform"}


def test_processes_have_the_namespace_as_an_argument() -> None:
    for deployment in bodies("Deployment"):
        command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
        assert f"--watch-namespace={WATCHED}" in command


def test_policies_are_for_the_namespace() -> None:
    for policy in bodies("ValidatingAdmissionPolicy"):
        assert policy["metadata"]["name"].endswith(f".{WATCHED}")
        selector = policy["spec"]["matchConstraints"]["namespaceSelector"]
        assert selector == {"matchLabels": {"kubernetes.io/metadata.name": WATCHED}}


def test_the_watched_namespace_is_not_printed() -> None:
    assert [each["metadata"]["name"] for each in bodies("Namespace")] == ["platform"]
    assert bodies("Namespace", namespace=WATCHED) == []
