from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cobaltcore.deploy import operators, processes, rbac, workload
from cobaltcore.deploy.processes import OperatorProcess
from cobaltcore.deploy.values import Installation, image_of
from cobaltcore.engine import registry
from cobaltcore.runtime.meta import Desired

IMAGE = "registry.example/cobaltcore@sha256:" + "0" * 64


def objects(running: Sequence[OperatorProcess] = ()) -> list[Desired]:
    installation = Installation("cloud", {"image": image_of(IMAGE)})
    return list(operators.objects(installation, running))


def bodies(kind: str, running: Sequence[OperatorProcess] = ()) -> list[Mapping[str, Any]]:
    return [each.body for each in objects(running) if each.kind.kind == kind]


def test_cluster_roles_have_no_wildcard() -> None:
    rules = [rule for role in bodies("ClusterRole") for rule in role["rules"]]
    assert rules
    for rule in rules:
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}


def test_every_operator_has_an_account_of_its_own() -> None:
    accounts = {
        each["spec"]["template"]["spec"]["serviceAccountName"] for each in bodies("Deployment")
    }
    assert accounts == {f"cobalt-{each.name}" for each in registry.operators()}
    bound = {
        (binding["roleRef"]["name"], subject["name"])
        for binding in bodies("ClusterRoleBinding")
        for subject in binding["subjects"]
    }
    for each in registry.operators():
        mine = {role for role, account in bound if account == f"cobalt-{each.name}"}
        assert mine <= {f"cobalt:operator:{each.name}", f"cobalt:webhooks:cobalt-{each.name}"}
        assert f"cobalt:operator:{each.name}" in mine


def test_only_processes_with_webhooks_may_register_some_and_only_their_own() -> None:
    names = {
        name
        for role in bodies("ClusterRole")
        for rule in role["rules"]
        if rule["apiGroups"] == ["admissionregistration.k8s.io"]
        for name in rule["resourceNames"]
    }
    assert names == {"cobalt-c5c3", "cobalt-ovn"}
    services = {each["metadata"]["name"] for each in bodies("Service")}
    assert {each for each in services if each.endswith("-webhooks")} == {
        f"{name}-webhooks" for name in names
    }


def test_accounts_of_both_layouts_can_have_a_role() -> None:
    both = [*processes.one_each(), *processes.one_for_all()]
    bindings = bodies("ClusterRoleBinding", both)
    names = {each["metadata"]["name"] for each in bindings}
    assert len(names) == len(bindings)


def test_own_objects_are_read_and_changed_by_name_only() -> None:
    for role in bodies("Role"):
        for rule in role["rules"]:
            assert rule["verbs"] == ["create"] or rule["resourceNames"]


def test_services_create_only_what_they_run_on() -> None:
    creators: dict[str, set[str]] = {}
    for each in registry.operators():
        for kind in each.rights.creates:
            creators.setdefault(kind.plural, set()).add(each.name)
    assert creators["daemonsets"] == {"neutron", "nova", "ovn"}
    assert "keystone" not in creators["vhosts"]
    assert "barbican" not in creators["persistentvolumeclaims"]


def test_every_role_is_bound_to_the_service_account_of_the_deployment() -> None:
    (deployment,) = bodies("Deployment", processes.one_for_all())
    subject = {
        "kind": "ServiceAccount",
        "name": deployment["spec"]["template"]["spec"]["serviceAccountName"],
        "namespace": "cloud",
    }
    for kind in ("Role", "ClusterRole"):
        bindings = bodies(f"{kind}Binding", processes.one_for_all())
        assert {each["roleRef"]["name"] for each in bindings} == {
            each["metadata"]["name"] for each in bodies(kind, processes.one_for_all())
        }
        assert all(each["subjects"] == [subject] for each in bindings)


def test_namespaced_objects_are_in_the_chosen_namespace() -> None:
    namespaces = {each.body["metadata"].get("namespace") for each in objects()}
    assert namespaces == {None, "cloud"}


def test_webhook_service_selects_the_operators_pods() -> None:
    services = bodies("Service", processes.one_for_all())
    (service,) = [each for each in services if each["metadata"]["name"].endswith("-webhooks")]
    (deployment,) = bodies("Deployment", processes.one_for_all())
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    assert f"--webhook-service=cloud/{service['metadata']['name']}" in command


def test_deployment_runs_the_image_unprivileged() -> None:
    for deployment in bodies("Deployment"):
        check(deployment)


def check(deployment: Mapping[str, Any]) -> None:
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_placement_is_left_to_the_scheduler() -> None:
    for deployment in bodies("Deployment"):
        assert not {"nodeSelector", "tolerations"} & set(deployment["spec"]["template"]["spec"])


def test_account_keeps_leases_and_secrets_in_its_namespace_only() -> None:
    (role,) = (each.body for each in rbac.account("a", "n", ()) if each.kind.kind == "Role")
    assert sorted(rule["resources"] for rule in role["rules"]) == [["leases"], ["secrets"]]


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
