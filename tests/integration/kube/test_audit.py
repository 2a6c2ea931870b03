"""The audit log answers: who asked for what, since when."""

import pytest

from tests.support.control_plane import ControlPlaneHarness


def test_audit_shows_each_request_once_with_its_answer(
    control_plane: ControlPlaneHarness, namespace: str
) -> None:
    start = control_plane.mark()
    control_plane.kubectl("create", "configmap", "one", "-n", namespace)

    found = control_plane.audit(since=start, namespace=namespace, agent="kubectl")

    assert [(each.verb, each.object.resource, each.code) for each in found] == [
        ("create", "configmaps", 201)
    ]
    assert found[0].user.username == "admin"
    assert found[0].object.name == "one"


def test_audit_is_empty_when_nothing_was_asked(
    control_plane: ControlPlaneHarness, namespace: str
) -> None:
    control_plane.kubectl("get", "configmaps", "-n", namespace)
    start = control_plane.mark()

    assert control_plane.audit(since=start, agent="kubectl") == []


@pytest.mark.parametrize("verbs", [("get",), ("list", "create")])
def test_audit_filters_by_user_and_verb(
    control_plane: ControlPlaneHarness, namespace: str, verbs: tuple[str, ...]
) -> None:
    start = control_plane.mark()
    control_plane.kubectl("create", "configmap", "one", "-n", namespace)
    control_plane.kubectl("get", "configmap", "one", "-n", namespace)
    control_plane.kubectl("get", "configmaps", "-n", namespace)

    found = control_plane.audit(since=start, user="admin", namespace=namespace, verbs=verbs)

    assert {each.verb for each in found} == set(verbs)
    assert control_plane.audit(since=start, user="nobody") == []


def test_audit_sees_every_answered_request_without_delay(
    control_plane: ControlPlaneHarness, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    start = control_plane.mark()

    for number in range(50):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}}
        control_plane.request("POST", path, body)
        assert len(control_plane.audit(since=start, namespace=namespace)) == number + 1
