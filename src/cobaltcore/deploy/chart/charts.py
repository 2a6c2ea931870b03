"""The files of the charts: one for each operator, and one for all. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import yaml

from cobaltcore.api import base, crd
from cobaltcore.deploy import operators, processes, values
from cobaltcore.deploy.chart import notes, schema, template
from cobaltcore.deploy.processes import OperatorProcess
from cobaltcore.runtime.meta import Kind

ALL = "cobaltcore"
"""Name of the chart with all operators."""
KEEP = {"helm.sh/resource-policy": "keep"}
"""Objects go with their CRD, so that CRDs stay when a release is removed."""
_KUBERNETES = ">=1.31.0-0"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its name, and text by path."""

    name: str
    description: str
    files: Mapping[str, str]

    @property
    def archive(self) -> str:
        """The name of its package."""
        return f"{self.name}-{version('cobaltcore')}.tgz"


def charts() -> list[Chart]:
    """All charts, that of all operators first."""
    found = processes.one_each()
    return [_of_all(found), *map(_of_one, found)]


def metadata(chart_name: str, description: str) -> dict[str, object]:
    """Chart.yaml."""
    release = version("cobaltcore")
    return {
        "apiVersion": "v2",
        "name": chart_name,
        "description": description,
        "type": "application",
        "version": release,
        "appVersion": release,
        "kubeVersion": _KUBERNETES,
        "keywords": ["openstack", "operator"],
    }


def _of_all(found: Iterable[OperatorProcess]) -> Chart:
    found = list(found)
    names = [each.operator for each in found]
    files = {
        "values.yaml": schema.yaml_of_all(names),
        "values.schema.json": schema.of_all(names),
        "templates/NOTES.txt": notes.of_all(),
        **dict(_crds({each.kind for each in base.definitions()})),
    }
    for each in found:
        own = f'{{{{- $own := dig "{values.OPERATORS}" "{each.operator}" dict .Values.AsMap }}}}\n'
        shared = f'(deepCopy (omit .Values.AsMap "{values.OPERATORS}"))'
        head = f"{own}{{{{- $v := mergeOverwrite {shared} $own }}}}\n"
        text = f'{{{{- if ne (toString $own.enabled) "false" }}}}\n{_body(each)}{{{{- end }}}}\n'
        files[f"templates/{each.operator}.yaml"] = head + text
    return _chart(ALL, "All operators of CobaltCore: OpenStack as a workload of Kubernetes", files)


def _of_one(process: OperatorProcess) -> Chart:
    served = {kind for each in process.operators for kind in each.rights.serves}
    kinds = ", ".join(sorted(kind.kind for kind in served))
    files = {
        "values.yaml": schema.yaml_of_operator(),
        "values.schema.json": schema.of_operator(),
        "templates/NOTES.txt": notes.of_one(process),
        **dict(_crds(served)),
        f"templates/{process.operator}.yaml": f"{{{{- $v := .Values.AsMap }}}}\n{_body(process)}",
    }
    return _chart(f"{process.operator}-operator", f"The operator of {kinds}", files)


def _body(process: OperatorProcess) -> str:
    several = "{{- if and (gt (int $v.replicaCount) 1) (not $v.leaderElection.enabled) }}"
    refused = f'{several}{{{{ fail "{values.ONE_LEADER}" }}}}{{{{ end }}}}\n'
    return refused + template.documents(operators.parts(process))


def _chart(name: str, description: str, files: Mapping[str, str]) -> Chart:
    head = yaml.safe_dump(metadata(name, description), sort_keys=False, width=120)
    return Chart(name, description, {"Chart.yaml": head, **files})


def _crds(served: Iterable[Kind]) -> Iterator[tuple[str, str]]:
    """CRDs are templates: Helm never upgrades those of its own folder for them."""
    wanted = {*served}
    for definition in base.definitions():
        kind = definition.kind
        if kind in wanted:
            manifest = crd.manifest(definition)
            manifest["metadata"]["annotations"] = KEEP
            text = template.escaped(crd.to_yaml([manifest]))
            path = f"templates/crds/{kind.plural}.{kind.group}.yaml"
            yield path, f"{{{{- if .Values.crds.install }}}}\n{text}{{{{- end }}}}\n"
