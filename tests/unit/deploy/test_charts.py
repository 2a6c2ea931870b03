"""The charts as text; tests/charts renders and installs them with the real Helm."""

import hashlib
import io
import json
import re
import tarfile
from typing import Any

import jsonschema
import pytest
import yaml

from cobaltcore.cli import main
from cobaltcore.deploy.chart import archive, charts
from cobaltcore.deploy.chart.charts import Chart
from cobaltcore.engine import registry

CHARTS = charts.charts()
OPERATORS = sorted(each.name for each in registry.operators())
PLACES = re.compile("[«»§]")


@pytest.fixture(params=CHARTS, ids=lambda each: each.name)
def chart(request: pytest.FixtureRequest) -> Chart:
    found: Chart = request.param
    return found


def test_there_is_a_chart_for_each_operator_and_one_for_all() -> None:
    assert [each.name for each in CHARTS] == [
        "cobaltcore",
        *(f"{name}-operator" for name in OPERATORS),
    ]


def test_no_place_is_left_in_a_template(chart: Chart) -> None:
    for path, text in chart.files.items():
        assert not PLACES.search(text), path


def test_conditions_of_a_template_end(chart: Chart) -> None:
    for path, text in chart.files.items():
        if path.startswith("templates/"):
            actions = re.findall(r"\{\{-? (if|with|range|end)\b", text)
            assert 2 * actions.count("end") == len(actions), path


def test_default_values_are_valid(chart: Chart) -> None:
    schema = json.loads(chart.files["values.schema.json"])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(chart.files["values.yaml"]), schema)


@pytest.mark.parametrize(
    "values",
    [
        {"replicas": 2},
        {"replicaCount": "2"},
        {"image": {"digest": "sha256:1"}},
        {"webhook": {"port": 0}},
        {"allowedRegistries": ["it's.example"]},
        {"resources": {"request": {}}},
    ],
)
def test_schema_refuses_what_no_template_reads(chart: Chart, values: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, json.loads(chart.files["values.schema.json"]))


def test_schema_knows_the_overrides_of_operators() -> None:
    schema = json.loads(CHARTS[0].files["values.schema.json"])
    jsonschema.validate({"operators": {"nova": {"enabled": False, "replicaCount": 1}}}, schema)
    mistakes: list[dict[str, Any]] = [{"novas": {}}, {"nova": {"replicas": 1}}]
    for wrong in mistakes:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"operators": wrong}, schema)


def test_crds_are_upgraded_and_outlive_the_release(chart: Chart) -> None:
    found = [text for path, text in chart.files.items() if path.startswith("templates/crds/")]
    assert found
    assert not any(path.startswith("crds/") for path in chart.files)
    for text in found:
        assert text.startswith("{{- if .Values.crds.install }}\n")
        assert "\n    helm.sh/resource-policy: keep\n" in text


def test_chart_of_all_operators_has_every_crd() -> None:
    whole = {path for path in CHARTS[0].files if path.startswith("templates/crds/")}
    for each in CHARTS[1:]:
        assert {path for path in each.files if path.startswith("templates/crds/")} < whole


def test_notes_name_the_next_command(chart: Chart) -> None:
    notes = chart.files["templates/NOTES.txt"]
    assert "rollout status deployment" in notes
    assert "\n  kubectl " in notes


def test_package_is_the_same_each_time_and_has_every_file(chart: Chart) -> None:
    content = archive.package(chart)
    assert content == archive.package(chart)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        assert tar.getnames() == [f"{chart.name}/{path}" for path in chart.files]


def test_index_has_the_digest_of_each_package() -> None:
    packages = {each.archive: archive.package(each) for each in CHARTS}
    index = yaml.safe_load(archive.index(packages, CHARTS, "https://charts.example/"))
    for each in CHARTS:
        (entry,) = index["entries"][each.name]
        assert entry["urls"] == [f"https://charts.example/{each.archive}"]
        assert entry["digest"] == hashlib.sha256(packages[each.archive]).hexdigest()


def test_command_writes_folders_and_packages(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["charts", "build", "--output", str(tmp_path / "folders")]) == 0
    assert (tmp_path / "folders/keystone-operator/Chart.yaml").exists()
    assert main.main(["charts", "package", "--output", str(tmp_path / "packages")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert str(tmp_path / "packages/index.yaml") in printed
    assert len(list((tmp_path / "packages").glob("*.tgz"))) == len(CHARTS)
