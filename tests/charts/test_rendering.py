"""What Helm renders is what `cobalt manifests` prints, for the same values."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cobaltcore.cli import main
from cobaltcore.cli.commands.manifests import manifest
from cobaltcore.deploy import operators, processes
from cobaltcore.deploy.values import Installation
from tests.charts.conftest import Helm

NAMESPACE = "platform"
CHARTS = ["cobaltcore", *(f"{each.operator}-operator" for each in processes.one_each())]
OFF = {"enabled": False}
ON = {"enabled": True}
SINGLE: dict[str, dict[str, Any]] = {
    "defaults": {},
    "one namespace": {"watchNamespace": "team"},
    "everything optional off": {
        "image": {"repository": "r.example/c", "digest": f"sha256:{'0' * 64}"},
        "replicaCount": 1,
        "leaderElection": OFF,
        "webhook": OFF,
        "metrics": OFF,
        "podDisruptionBudget": OFF,
        "serviceAccount": {"create": False},
        "priorityClassName": "",
        "allowedRegistries": [],
        "allowedNodeLabels": [],
        "crds": {"install": False},
    },
    "everything optional on": {
        "image": {"tag": "1.2", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "pull"}],
        "logLevel": "DEBUG",
        "metrics": {"serviceMonitor": {**ON, "interval": "10s", "labels": {"a": "b"}}},
        "networkPolicy": ON,
        "webhook": {"port": 10250},
        "serviceAccount": {"annotations": {"a": "<&>"}},
        "nodeSelector": {"rack": "1"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"a": [1, 2.5, True, None, "~"]}},
        "podAnnotations": {"a": 'quoted "b"'},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        "resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}},
        "allowedRegistries": ["a.example:5000", "b.example/c/d"],
        "allowedNodeLabels": ["rack=1", "example.com/compute"],
    },
}
SHARED: dict[str, dict[str, Any]] = {
    "an operator left out": {"operators": {"ovn": OFF}},
    "an operator with values of its own": {
        "replicaCount": 3,
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "operators": {
            "nova": {
                "replicaCount": 1,
                "leaderElection": OFF,
                "metrics": OFF,
                "priorityClassName": "",
                "tolerations": [],
                "serviceAccount": {"name": "mine"},
            },
            "keystone": {"watchNamespace": "team", "image": {"tag": "2"}},
        },
    },
}


def by_key(objects: list[Any]) -> dict[tuple[str, str, str], Any]:
    """Objects by identity, without the annotation that keeps CRDs in a release."""
    found = {}
    for each in objects:
        metadata = each["metadata"]
        if each["kind"] == "CustomResourceDefinition":
            metadata.pop("annotations", None)
        key = (each["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in found, f"{key} is there twice"
        found[key] = each
    return found


def same(rendered: list[Any], printed: list[Any]) -> None:
    left = by_key(rendered)
    right = by_key([each for each in printed if each["kind"] != "Namespace"])
    assert left.keys() == right.keys()
    for key, each in left.items():
        assert each == right[key], key


@pytest.mark.parametrize("chart", CHARTS)
def test_chart_passes_lint(helm: Helm, folders: Path, chart: str) -> None:
    helm("lint", "--strict", str(folders / chart))


@pytest.mark.parametrize("values", [*SINGLE.values(), *SHARED.values()], ids=[*SINGLE, *SHARED])
def test_chart_of_all_operators_renders_what_manifests_prints(
    helm: Helm, folders: Path, capsys: pytest.CaptureFixture[str], values: dict[str, Any]
) -> None:
    rendered = helm.template(folders / "cobaltcore", values, NAMESPACE)
    files = ["--values", str(helm.home / "values.yaml")]
    assert main.main(["manifests", "--namespace", NAMESPACE, *files]) == 0
    same(rendered, list(yaml.safe_load_all(capsys.readouterr().out)))


@pytest.mark.parametrize("values", SINGLE.values(), ids=SINGLE)
@pytest.mark.parametrize("process", processes.one_each(), ids=lambda each: each.operator)
def test_chart_of_one_operator_renders_its_part(
    helm: Helm, folders: Path, process: processes.OperatorProcess, values: dict[str, Any]
) -> None:
    chart = folders / f"{process.operator}-operator"
    rendered = helm.template(chart, values, NAMESPACE)
    wanted = operators.objects(Installation(NAMESPACE, values), [process])
    own = [each for each in rendered if each["kind"] != "CustomResourceDefinition"]
    same(own, json.loads(json.dumps([manifest(each) for each in wanted])))
    served = {kind.kind for each in process.operators for kind in each.rights.serves}
    crds = [each for each in rendered if each["kind"] == "CustomResourceDefinition"]
    wants_crds = values.get("crds", {}).get("install", True)
    assert {each["spec"]["names"]["kind"] for each in crds} == (served if wants_crds else set())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("replicas=1", "replicas"),
        ("image.digest=sha256:1", "/image/digest"),
        ("leaderElection.enabled=false", "replicaCount 1"),
        ("operators.novas.enabled=false", "novas"),
    ],
)
def test_helm_refuses_what_cobalt_refuses(
    helm: Helm, folders: Path, capsys: pytest.CaptureFixture[str], setting: str, message: str
) -> None:
    done = helm.run("template", "release", str(folders / "cobaltcore"), "--set", setting)
    assert done.returncode != 0
    assert message in done.stderr
    assert main.main(["manifests", "--set", setting]) == 1
    assert "invalid" in capsys.readouterr().err
