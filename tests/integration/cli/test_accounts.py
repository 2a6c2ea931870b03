"""Accounts of operators: each is refused what another one owns, by a real API server."""

from collections.abc import Iterator
from typing import Any

import pytest

from cobaltcore.api import crd
from cobaltcore.deploy import processes
from cobaltcore.engine import registry
from cobaltcore.engine.operator import Operator
from cobaltcore.runtime.meta import Kind
from cobaltlab.platform import rbac
from tests.support import rights
from tests.support.control_plane import ControlPlaneHarness

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OPERATORS = sorted(registry.operators(), key=lambda each: each.name)
NAMES = [each.name for each in OPERATORS]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlaneHarness]:
    with ControlPlaneHarness() as found:
        found.install_crds(crd.manifests())
        rights.grant(found)
        yield found


def may(plane: ControlPlaneHarness, operator: str, **attributes: str) -> bool:
    user = rbac.user_name(f"cobalt-{operator}")
    groups = [f"system:serviceaccounts:{rbac.NAMESPACE}", "system:authenticated"]
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer: dict[str, Any] = plane.request("POST", REVIEWS, review)
    return bool(answer["status"]["allowed"])


def writes(
    plane: ControlPlaneHarness, operator: Operator, kind: Kind, namespace: str = "openstack"
) -> list[str]:
    """What it may do to objects of a kind besides reading them."""
    place = {"namespace": namespace} if kind.namespaced else {}
    verbs = [(verb, "") for verb in ("create", "delete", "patch", "update")]
    verbs += [("patch", "status"), ("update", "status"), ("update", "finalizers")]
    return [
        f"{verb} {part}".strip()
        for verb, part in verbs
        if may(
            plane,
            operator.name,
            verb=verb,
            group=kind.group,
            resource=kind.plural,
            subresource=part,
            **place,
        )
    ]


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_account_may_not_write_objects_that_another_operator_serves(
    plane: ControlPlaneHarness, operator: Operator
) -> None:
    allowed = {*operator.rights.serves, *operator.rights.creates}
    for other in OPERATORS:
        for kind in other.rights.serves:
            if kind not in allowed:
                assert writes(plane, operator, kind) == [], f"{operator.name}: {kind}"


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_account_may_not_create_what_only_others_create(
    plane: ControlPlaneHarness, operator: Operator
) -> None:
    allowed = {*operator.rights.serves, *operator.rights.creates}
    foreign = {kind for other in OPERATORS for kind in other.rights.creates} - allowed
    assert foreign
    for kind in foreign:
        assert writes(plane, operator, kind) == [], f"{operator.name}: {kind}"


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_account_may_do_what_its_operator_declares(
    plane: ControlPlaneHarness, operator: Operator
) -> None:
    for kind in operator.rights.creates:
        assert {"create", "delete", "patch"} <= {*writes(plane, operator, kind)}, kind
    for kind in operator.rights.serves:
        assert {"patch", "patch status", "update finalizers"} <= {*writes(plane, operator, kind)}


@pytest.mark.parametrize("name", NAMES)
def test_account_may_not_touch_leases_and_webhooks_of_another_process(
    plane: ControlPlaneHarness, name: str
) -> None:
    for process in processes.one_each():
        own = process.arguments == (name,)
        lease = {"group": "coordination.k8s.io", "resource": "leases", "name": process.identity}
        for verb in ("get", "update"):
            assert may(plane, name, verb=verb, namespace=rbac.NAMESPACE, **lease) == own
        for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            webhook = {
                "group": "admissionregistration.k8s.io",
                "resource": resource,
                "name": process.identity,
            }
            for verb in ("create", "delete", "patch"):
                expected = own and bool(process.webhook_service)
                assert may(plane, name, verb=verb, **webhook) == expected, (verb, webhook)


@pytest.mark.parametrize("name", NAMES)
def test_account_may_not_widen_its_rights(plane: ControlPlaneHarness, name: str) -> None:
    group = "rbac.authorization.k8s.io"
    for verb in ("create", "update", "patch", "bind", "escalate"):
        for resource in ("clusterroles", "clusterrolebindings"):
            assert not may(plane, name, verb=verb, group=group, resource=resource)
    assert not may(plane, name, verb="impersonate", resource="users")
    assert not may(plane, name, verb="impersonate", resource="serviceaccounts")
    assert not may(plane, name, verb="create", resource="serviceaccounts", subresource="token")
