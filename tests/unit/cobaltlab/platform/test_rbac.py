"""Roles derived from the registry: complete and least privilege."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.runtime import offline
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltlab.platform import rbac
from cobaltlab.providers import provider


def rules() -> Iterator[dict[str, Any]]:
    for each in rbac.objects():
        yield from each.body.get("rules", ())


def test_no_role_has_a_wildcard_or_may_escalate() -> None:
    for rule in rules():
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
        if "rbac.authorization.k8s.io" in rule["apiGroups"]:
            assert not {"clusterrolebindings"} & set(rule["resources"])
            if "clusterroles" in rule["resources"]:
                # The one that owns the webhook configurations.
                assert (rule["verbs"], len(rule["resourceNames"])) == (["get"], 1)


def test_every_operator_and_provider_has_a_bound_role() -> None:
    found = list(rbac.objects())
    roles = {e.body["metadata"]["name"] for e in found if e.kind.kind == "ClusterRole"}
    bound = {e.body["roleRef"]["name"] for e in found if e.kind.kind == "ClusterRoleBinding"}
    assert {f"cobalt:operator:{each.name}" for each in registry.operators()} <= roles
    assert {f"cobalt:provider:{name}" for name in provider.discover()} <= roles
    assert bound == roles


def test_operators_may_update_the_status_of_every_declared_kind() -> None:
    resources = {resource for rule in rules() for resource in rule["resources"]}
    for each in registry.operators():
        for kind in each.rights.serves:
            assert f"{kind.plural}/status" in resources


def _watch(cluster: Cluster, controllers: list[Controller]) -> None:
    for controller in controllers:
        for source in controller.sources:
            cluster.informer(source.kind, source.scope)


def test_all_operators_share_informers_in_one_process() -> None:
    cluster = offline.cluster()
    context = Context(cluster, "")
    for each in registry.operators():
        each.webhooks(context, Webhooks())
    _watch(cluster, [c for each in registry.operators() for c in each.controllers(context)])


def test_all_providers_share_informers_in_one_process() -> None:
    cluster = offline.cluster()
    context = provider.Context(cluster, "")
    _watch(
        cluster, [c for each in provider.discover().values() for c in each.controllers(context)]
    )
