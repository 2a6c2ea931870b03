"""Values of an installation: what is refused, and what overrides what."""

from typing import Any

import pytest

from cobaltcore.deploy import operators
from cobaltcore.deploy.values import Installation, ValuesInvalid, image_of
from cobaltcore.runtime.meta import Desired


def rendered(kind: str, **settings: Any) -> dict[str, Desired]:
    found = operators.objects(Installation("cloud", settings))
    return {each.key.name: each for each in found if each.kind.kind == kind}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"replicas": 1}, "replicas"),
        ({"replicaCount": -1}, "$.replicaCount"),
        ({"operators": {"novas": {}}}, "no operator 'novas'"),
        ({"operators": {"nova": {"image": {"name": "a"}}}}, "$.image"),
        ({"watchNamespace": "A"}, "$.watchNamespace"),
        ({"leaderElection": {"enabled": False}}, "replicaCount 1"),
        (
            {"operators": {"ovn": {"leaderElection": {"enabled": False}}}},
            "values of 'ovn'",
        ),
    ],
)
def test_invalid_values_are_refused_by_name(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ValuesInvalid, match=named.replace("$", r"\$")):
        list(operators.objects(Installation("cloud", settings)))


def test_values_of_an_operator_override_those_of_all() -> None:
    found = rendered("Deployment", replicaCount=3, operators={"nova": {"replicaCount": 1}})
    counts = {name: each.body["spec"]["replicas"] for name, each in found.items()}
    assert counts.pop("cobalt-nova") == 1
    assert {*counts.values()} == {3}


def test_an_operator_can_be_left_out_with_all_that_is_its_own() -> None:
    for kind in ("Deployment", "ServiceAccount", "ClusterRole", "ValidatingAdmissionPolicy"):
        found = rendered(kind, operators={"nova": {"enabled": False}})
        assert found
        assert not [name for name in found if "nova" in name], kind


def test_bindings_follow_a_renamed_account() -> None:
    settings = {"operators": {"nova": {"serviceAccount": {"name": "mine", "create": False}}}}
    assert "mine" not in rendered("ServiceAccount", **settings)
    binding = rendered("ClusterRoleBinding", **settings)["cobalt:operator:nova:cloud:cobalt-nova"]
    assert binding.body["subjects"][0]["name"] == "mine"
    pod = rendered("Deployment", **settings)["cobalt-nova"].body["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "mine"


def test_webhooks_can_be_left_out() -> None:
    assert "cobalt-c5c3-webhooks" in rendered("Service")
    assert "cobalt-c5c3-webhooks" not in rendered("Service", webhook={"enabled": False})
    pod = rendered("Deployment", webhook={"enabled": False})["cobalt-c5c3"]
    command = pod.body["spec"]["template"]["spec"]["containers"][0]["command"]
    assert not [each for each in command if "webhook" in each]


def test_two_replicas_are_spread_and_one_at_a_time_is_evicted() -> None:
    (budget, *_) = rendered("PodDisruptionBudget").values()
    assert budget.body["spec"]["maxUnavailable"] == 1
    for each in rendered("Deployment").values():
        assert each.body["spec"]["replicas"] == 2
        assert each.body["spec"]["template"]["spec"]["topologySpreadConstraints"]


def test_empty_fields_are_left_out() -> None:
    pod = rendered("Deployment")["cobalt-nova"].body["spec"]["template"]["spec"]
    assert not {"nodeSelector", "tolerations", "affinity", "imagePullSecrets"} & set(pod)


def test_image_reference_becomes_values() -> None:
    digest = "sha256:" + "0" * 64
    found = image_of(f"registry.example/a@{digest}")
    assert (found["repository"], found["digest"]) == ("registry.example/a", digest)
