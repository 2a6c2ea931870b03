"""Releases of the chart in a real API server: install, upgrade, roll back, uninstall with data kept."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from cobaltcore.cli import main
from cobaltcore.deploy import processes
from tests.charts.conftest import Helm
from tests.support import objects, structural
from tests.support.control_plane import ControlPlaneHarness

NAMESPACE = "platform"
RELEASE = "cobaltcore"
KEYSTONES = "keystones.keystone.openstack.c5c3.io"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def install(cluster: Helm, chart: Path | str, *arguments: str) -> str:
    place = ("-n", NAMESPACE, "--create-namespace")
    return cluster("upgrade", "--install", RELEASE, str(chart), *place, *arguments)


def image(plane: ControlPlaneHarness, name: str) -> str:
    path = "jsonpath={.spec.template.spec.containers[0].image}"
    return plane.kubectl("get", "deployment", "-n", NAMESPACE, name, "-o", path)


def keystone(namespace: str) -> dict[str, Any]:
    example = next(each for each in structural.examples() if each["kind"] == "Keystone")
    return objects.moved(example, name="kept", namespace=namespace)


def older(chart: Path, copy: Path) -> Path:
    """The chart before Keystone had a field."""
    for path in (each for each in chart.rglob("*") if each.is_file()):
        target = copy / path.relative_to(chart)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())
    crd = copy / f"templates/crds/{KEYSTONES}.yaml"
    head, *body, end = crd.read_text().splitlines()
    manifest = yaml.safe_load("\n".join(body))
    schema = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["federation"]
    crd.write_text(f"{head}\n{yaml.safe_dump(manifest)}{end}\n")
    return copy


def test_release_is_upgraded_rolled_back_and_removed_with_its_data_kept(
    cluster: Helm, plane: ControlPlaneHarness, folders: Path, tmp_path: Path
) -> None:
    chart = folders / "cobaltcore"
    field = "jsonpath={..openAPIV3Schema.properties.spec.properties.federation.type}"
    has_field = partial(plane.kubectl, "get", "crd", KEYSTONES, "-o", field)

    notes = install(cluster, older(chart, tmp_path / "older"), "--set", "image.tag=v1")
    assert f"kubectl -n {NAMESPACE} rollout status deployment" in notes
    assert image(plane, "cobalt-keystone").endswith(":v1")
    assert has_field() == ""
    namespace = plane.create_namespace()
    plane.kubectl("apply", "-f", "-", input=yaml.safe_dump(keystone(namespace)))
    kept = partial(plane.kubectl, "get", KEYSTONES, "-n", namespace, "-o", "name")

    install(cluster, chart, "--set", "image.tag=v2")
    assert image(plane, "cobalt-keystone").endswith(":v2")
    assert has_field() == "object"
    assert kept()

    cluster("rollback", RELEASE, "1", "-n", NAMESPACE)
    assert image(plane, "cobalt-keystone").endswith(":v1")
    assert kept()

    cluster("uninstall", RELEASE, "-n", NAMESPACE)
    label = ("-l", "c5c3.io/platform", "-o", "name")
    assert plane.kubectl("get", "clusterroles,clusterrolebindings", *label) == ""
    assert plane.kubectl("get", "deployments,services", "-n", NAMESPACE, *label) == ""
    assert kept()

    install(cluster, chart)
    assert has_field() == "object"
    assert kept()


def may(plane: ControlPlaneHarness, operator: str, **attributes: str) -> bool:
    spec = {
        "user": f"system:serviceaccount:{NAMESPACE}:cobalt-{operator}",
        "groups": [f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"],
        "resourceAttributes": attributes,
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer: dict[str, Any] = plane.request("POST", REVIEWS, review)
    return bool(answer["status"]["allowed"])


def test_accounts_of_a_release_may_not_write_what_another_operator_serves(
    cluster: Helm, plane: ControlPlaneHarness, folders: Path
) -> None:
    install(cluster, folders / "cobaltcore")
    running = {each.operator: each.operators[0] for each in processes.one_each()}
    for name, operator in running.items():
        allowed = {*operator.rights.serves, *operator.rights.creates}
        for other in running.values():
            for kind in other.rights.serves:
                resource = {"group": kind.group, "resource": kind.plural, "namespace": "a"}
                granted = may(plane, name, verb="patch", **resource)
                assert granted == (kind in allowed), (name, kind)


def test_operator_of_one_namespace_has_no_rights_in_another(
    cluster: Helm, plane: ControlPlaneHarness, folders: Path
) -> None:
    plane.kubectl("create", "namespace", "team")
    install(cluster, folders / "keystone-operator", "--set", "watchNamespace=team")
    secret = {"verb": "list", "resource": "secrets"}
    assert may(plane, "keystone", namespace="team", **secret)
    assert not may(plane, "keystone", namespace="other", **secret)
    assert not may(plane, "keystone", **secret)


def test_chart_is_installed_from_a_repository(
    cluster: Helm,
    plane: ControlPlaneHarness,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    packages = tmp_path / "packages"
    assert main.main(["charts", "package", "--output", str(packages)]) == 0
    capsys.readouterr()
    handler = partial(SimpleHTTPRequestHandler, directory=str(packages))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            cluster("repo", "add", "c5c3", f"http://127.0.0.1:{server.server_port}")
            found = cluster("search", "repo", "c5c3/")
            assert "c5c3/nova-operator" in found
            install(cluster, "c5c3/keystone-operator", "--set", "image.tag=v3")
        finally:
            server.shutdown()
    assert image(plane, "cobalt-keystone").endswith(":v3")
