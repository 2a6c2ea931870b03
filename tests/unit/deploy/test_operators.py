from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from cobaltcore.deploy import operators, rbac, workload
from cobaltcore.runtime.meta import Desired

IMAGE = "registry.example/cobaltcore@sha256:" + "0" * 64


def objects() -> list[Desired]:
    return list(operators.objects(namespace="cloud", image=IMAGE))


def bodies(kind: str) -> Iterator[Mapping[str, Any]]:
    return (each.body for each in objects() if each.kind.kind == kind)


def test_cluster_roles_have_no_wildcard() -> None:
    rules = [rule for role in bodies("ClusterRole") for rule in role["rules"]]
    assert rules
    for rule in rules:
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}


def test_every_role_is_bound_to_the_service_account_of_the_deployment() -> None:
    (deployment,) = bodies("Deployment")
    subject = {
        "kind": "ServiceAccount",
        "name": deployment["spec"]["template"]["spec"]["serviceAccountName"],
        "namespace": "cloud",
    }
    for kind in ("Role", "ClusterRole"):
        bindings = list(bodies(f"{kind}Binding"))
        assert {each["roleRef"]["name"] for each in bindings} == {
            each["metadata"]["name"] for each in bodies(kind)
        }
        assert all(each["subjects"] == [subject] for each in bindings)


def test_namespaced_objects_are_in_the_chosen_namespace() -> None:
    namespaces = {each.body["metadata"].get("namespace") for each in objects()}
    assert namespaces == {None, "cloud"}


def test_webhook_service_selects_the_operators_pods() -> None:
    (service,) = bodies("Service")
    (deployment,) = bodies("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    assert f"--webhook-service=cloud/{service['metadata']['name']}" in command


def test_deployment_runs_the_image_unprivileged() -> None:
    (deployment,) = bodies("Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_placement_is_left_to_the_scheduler() -> None:
    (deployment,) = bodies("Deployment")
    assert not {"nodeSelector", "tolerations"} & set(deployment["spec"]["template"]["spec"])


def test_account_keeps_leases_and_secrets_in_its_namespace_only() -> None:
    (role,) = (each.body for each in rbac.account("a", "n", ()) if each.kind.kind == "Role")
    assert [rule["resources"] for rule in role["rules"]] == [["leases"], ["secrets"]]


@pytest.mark.parametrize(
    ("reference", "repository", "tag", "digest"),
    [
        ("r.example/a@sha256:0", "r.example/a", None, "sha256:0"),
        ("r.example/a:1", "r.example/a", "1", None),
        ("r.example:5000/a", "r.example:5000/a", "latest", None),
    ],
)
def test_image_reference_is_parsed(
    reference: str, repository: str, tag: str | None, digest: str | None
) -> None:
    found = workload.parse_image(reference)
    assert (found.repository, found.tag or None, found.digest or None) == (
        repository,
        tag,
        digest,
    )
