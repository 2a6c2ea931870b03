"""`cobalt plan`: what it predicts for an edit is what happens when the edit is applied."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import asking, background
from tests.support.control_plane import ControlPlaneHarness
from tests.support.predictions import KINDS, Objects, contents, merged, observed, predicted
from tests.support.services import serving

OPERATORS = ("c5c3", "keystone", "placement", "barbican", "credentials")
OFF = {"enabled": False}


@dataclass
class Cloud:
    """A control plane that is Ready, and whose operators run; edits add up."""

    plane: ControlPlaneHarness
    namespace: str
    manifest: dict[str, Any]

    def edited(self, change: dict[str, Any]) -> dict[str, Any]:
        return {**self.manifest, "spec": merged(self.manifest["spec"], change)}


@pytest.fixture(scope="module")
def cloud(plane: ControlPlaneHarness) -> Iterator[Cloud]:
    namespace = plane.create_namespace("plan")
    found = Cloud(plane, namespace, a_plane(namespace))
    with background.running(lambda: serving(plane, OPERATORS)):
        apply(plane, found.manifest)
        settle(plane, namespace)
        yield found


def a_plane(namespace: str, **spec: Any) -> dict[str, Any]:
    off = dict.fromkeys(("glance", "nova", "neutron", "cinder"), OFF)
    whole = {"global": {"replicas": 1}, "services": {**off, "placement": {"enabled": True}}}
    return {
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "ControlPlane",
        "metadata": {"name": "lab", "namespace": namespace},
        "spec": merged(whole, spec),
    }


def apply(plane: ControlPlaneHarness, manifest: dict[str, Any]) -> None:
    plane.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def settle(plane: ControlPlaneHarness, namespace: str) -> Objects:
    """Wait until the control plane is Ready and nothing changes any more; what there is then."""
    seen: list[Objects] = [{}]

    def is_settled() -> bool:
        before, seen[0] = seen[0], snapshot(plane, namespace)
        if before != seen[0]:
            return False
        return asking.is_ready(plane, namespace, "controlplane/lab")

    asking.wait(
        is_settled, lambda: f"not settled: {asking.why(plane, 'cp/lab', namespace)}", pause=2.0
    )
    return seen[0]


def snapshot(plane: ControlPlaneHarness, namespace: str) -> Objects:
    """Everything that operators write, without statuses."""
    served = plane.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    kinds = ",".join(kind for kind in KINDS if kind in served)
    found = asking.get(plane, namespace, kinds)["items"]
    return contents(found)


def plan(
    plane: ControlPlaneHarness, manifest: dict[str, Any], path: Path, *, expect: int
) -> dict[str, Any]:
    """What `cobalt plan` finds."""
    path.write_text(json.dumps(manifest))
    code, text = asking.cobalt(plane, "plan", "-f", str(path), "-o", "json")
    assert code == expect, text
    found: dict[str, Any] = json.loads(text)
    return found


def services(name: str, **settings: Any) -> dict[str, Any]:
    return {"services": {name: settings}}


EDITS: dict[str, dict[str, Any]] = {
    "one replica more": services("keystone", replicas=2),
    "an option": services("keystone", extraConfig={"token": {"expiration": "7200"}}),
    "an option of all": {"global": {"extraConfig": {"DEFAULT": {"debug": "true"}}}},
    "a rule": services(
        "placement", policyOverrides={"rules": {"placement:usages": "role:reader"}}
    ),
    "resources": services("placement", resources={"requests": {"cpu": "110m"}}),
    "a toleration": services("keystone", tolerations=[{"key": "a", "operator": "Exists"}]),
    "a priority": services("placement", priorityClassName="system-cluster-critical"),
    "an image": services("placement", image={"tag": "14.0.1"}),
    "memory of the cache": {"infrastructure": {"memcached": {"memory": "128Mi"}}},
    "a second cache": {"infrastructure": {"memcached": {"replicas": 2}}},
    "a second database": {"infrastructure": {"mariadb": {"replicas": 3}}},
    "resources of the broker": {
        "infrastructure": {"rabbitmq": {"resources": {"limits": {"memory": "1Gi"}}}}
    },
    "the public address": services("placement", publicEndpoint="https://placement.example.com"),
    "pull secrets": {"global": {"imagePullSecrets": [{"name": "registry"}]}},
    "one service more": services("barbican", enabled=True),
    "one service less": services("placement", enabled=False),
    "two services at once": {
        "services": {"keystone": {"replicas": 1}, "placement": {"enabled": True}}
    },
    "data that goes with it": {"deletionPolicy": "Delete"},
}


@pytest.mark.parametrize("name", EDITS)
def test_the_predicted_changes_are_those_that_happen(
    plane: ControlPlaneHarness, cloud: Cloud, tmp_path: Path, name: str
) -> None:
    before = settle(plane, cloud.namespace)
    edited = cloud.edited(EDITS[name])
    expected = plan(plane, edited, tmp_path / "edit.json", expect=2)
    assert expected["failures"] == []
    assert snapshot(plane, cloud.namespace) == before, "a plan changes nothing"
    apply(plane, edited)
    cloud.manifest = edited
    after = settle(plane, cloud.namespace)
    assert predicted(expected) == observed(before, after)


def test_nothing_to_change(plane: ControlPlaneHarness, cloud: Cloud, tmp_path: Path) -> None:
    settle(plane, cloud.namespace)
    found = plan(plane, cloud.manifest, tmp_path / "same.json", expect=0)
    assert found["changes"] == []


def test_text_with_restarts_in_order_and_no_secret(
    plane: ControlPlaneHarness, cloud: Cloud, tmp_path: Path
) -> None:
    settle(plane, cloud.namespace)
    options = {"oslo_middleware": {"max_request_body_size": "1000"}}
    path = tmp_path / "edit.json"
    path.write_text(json.dumps(cloud.edited({"global": {"extraConfig": options}})))
    code, text = asking.cobalt(plane, "plan", "-f", str(path))
    assert code == 2
    assert f"~ ControlPlane/lab  (namespace {cloud.namespace})" in text
    assert "spec.global.extraConfig" in text
    assert "keystone.conf: + max_request_body_size = 1000" in text
    restarts = re.findall(r"  Deployment/(\S+) \(\d pods?\): each new pod is ready", text)
    assert "keystone-api" in restarts
    for each in asking.get(plane, cloud.namespace, "secrets")["items"]:
        for name, value in (each.get("data") or {}).items():
            decoded = base64.b64decode(value).decode(errors="replace")
            if name not in ("username", "ca.crt", "tls.crt") and len(decoded) >= 8:
                assert decoded not in text


def test_a_file_that_the_api_server_refuses(
    plane: ControlPlaneHarness, cloud: Cloud, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(cloud.edited({"global": {"replicas": -1}})))
    code, text = asking.cobalt(plane, "plan", "-f", str(path))
    assert code == 1
    assert "error: " in text
    assert "spec.global.replicas" in text


def test_an_edit_that_operators_would_refuse(
    plane: ControlPlaneHarness, cloud: Cloud, tmp_path: Path
) -> None:
    second = a_plane(cloud.namespace)
    second["metadata"]["name"] = "second"
    found = plan(plane, second, tmp_path / "second.json", expect=1)
    (failure,) = found["failures"]
    assert (failure["kind"], failure["name"]) == ("ControlPlane", "second")
    assert "NamespaceOccupied" in failure["message"]


@pytest.mark.usefixtures("cloud")
def test_a_whole_control_plane_before_it_exists(
    plane: ControlPlaneHarness, space: str, tmp_path: Path
) -> None:
    before = snapshot(plane, space)
    expected = plan(plane, a_plane(space), tmp_path / "new.json", expect=2)
    assert snapshot(plane, space) == before
    apply(plane, a_plane(space))
    after = settle(plane, space)
    assert {each["action"] for each in expected["changes"]} == {"create"}
    assert predicted(expected) == observed(before, after)
    migrations = [each["name"] for each in expected["jobs"] if each["migration"]]
    assert [each.rpartition("-")[0] for each in migrations] == [
        "keystone-db-sync",
        "placement-db-sync",
    ]


@pytest.mark.parametrize("options", [[], ["--server-side"]])
def test_a_file_is_merged_as_kubectl_does_it(
    plane: ControlPlaneHarness, space: str, tmp_path: Path, options: list[str]
) -> None:
    meta = {"name": "settings", "namespace": space}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    first = {**manifest, "data": {"kept": "1", "dropped": "1"}}
    plane.kubectl("apply", *options, "-f", "-", input=json.dumps(first))
    plane.kubectl("annotate", "configmap", "settings", "-n", space, "by=others")
    edited = {**manifest, "data": {"kept": "2"}}
    found = plan(plane, edited, tmp_path / "map.json", expect=2)
    (change,) = found["changes"]
    assert {each["path"]: (each["before"], each["after"]) for each in change["fields"]} == {
        "data.kept": ("1", "2"),
        "data.dropped": ("1", "(unset)"),
    }
    assert plan(plane, first, tmp_path / "map.json", expect=0)["changes"] == []
