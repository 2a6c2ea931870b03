"""The desired state of our examples as YAML for review: `make golden` writes tests/golden.

Everything that an example waits for is ready. Values of Secrets are shown by their origin.
"""

import base64
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.api.foreign import rook
from cobaltcore.api.foreign.kubernetes import NODE, SECRET
from cobaltcore.api.ovn import CLUSTER
from cobaltcore.engine import registry
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.scope import Answer
from cobaltcore.operators.controlplane.planner import ControlPlanePlanner
from cobaltcore.operators.ovn.southbound import Record
from cobaltcore.operators.ovn.view import RECORDS
from cobaltcore.runtime.meta import Desired, Key, Object
from tests.support import openstack, planning, simulation, structural
from tests.support.simulation import NOW, Objects, Simulation

FOLDER = Path(__file__).resolve().parent.parent / "golden"
NODE_NAME = "hypervisor-1"
WIDTH, INDENTATION = 240, 24
"""Characters in a line of YAML, and how many of them may be spaces in front."""
_RANDOM = re.compile(rf"(?:{simulation.RANDOM}){{2,}}[A-Za-z0-9]{{0,6}}=*")


def names() -> list[str]:
    """Examples of kinds that an operator serves, by file name without suffix."""
    served = {each.kind.kind for each in _planners()}
    return [file.stem for file in _files() if served & {each["kind"] for each in _documents(file)}]


def text(name: str) -> str:
    """All objects that the example becomes."""
    desired: list[Desired] = []
    secrets: set[str] = set()
    for document in _documents(structural.EXAMPLES / f"{name}.yaml"):
        simulated = of(document)
        desired += simulated.desired.values()
        secrets |= {key.name for kind, key in simulated.objects if kind == SECRET}
    ordered = sorted(desired, key=lambda each: (each.kind.kind, each.key))
    written = "---\n".join(_document(each) for each in ordered)
    return _masked(f"# Written by make golden from examples/{name}.yaml.\n{written}", secrets)


def of(document: Object) -> Simulation:
    """An example after everything that it waits for reported that it is ready."""
    planner = next(each for each in _planners() if each.kind.kind == document["kind"])
    found = Simulation(planner, planning.stored(document))
    if document["kind"] in _OTHERS:
        _OTHERS[document["kind"]](found)
    plan = found.converge()
    assert plan.ready, f"{document['kind']}: {plan.verdict}"
    return found


def main() -> int:
    """Write all files, remove those of examples that do not exist any more."""
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.yaml"):
        if file.stem not in names():
            file.unlink()
    for name in names():
        (FOLDER / f"{name}.yaml").write_text(text(name))
    return 0


def _planners() -> Iterator[Planner[Any]]:
    for operator in registry.operators():
        yield from operator.planners


def _files() -> list[Path]:
    return sorted(structural.EXAMPLES.glob("*.yaml"))


def _documents(file: Path) -> list[Object]:
    return list(yaml.safe_load_all(file.read_text()))


def _ceph_cluster(simulated: Simulation) -> None:
    meta = {"name": "rook-ceph", "namespace": simulated.live["metadata"]["namespace"]}
    simulated.add(rook.CEPH_CLUSTER, {"metadata": meta})


def _hypervisor(simulated: Simulation) -> None:
    """A node whose ovn-controller answers."""
    labels = {openstack.HYPERVISOR: ""}
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    meta = {"name": NODE_NAME, "uid": NODE_NAME, "labels": labels}
    simulated.add(NODE, {"metadata": meta, "status": {"addresses": [address]}})
    record = Record(NODE_NAME, NODE_NAME, (("geneve", "10.0.0.1"),), confirmed=NOW)
    simulated.answers = {RECORDS: Answer({NODE_NAME: record})}


def _ovn_cluster(simulated: Simulation) -> None:
    endpoints = {"northbound": "ssl:10.96.0.7:6641", "southbound": "ssl:10.96.0.8:6642"}
    meta = {"name": "ovn", "namespace": "ovn-system", "generation": 1}
    simulated.add(CLUSTER, {"metadata": meta, "status": {"endpoints": endpoints}})
    simulated.grant("ovn-system", CLUSTER, SECRET)


def _sources(simulated: Simulation) -> None:
    """Secrets with disjoint keys."""
    login = ("username", "password")
    credential = ("application_credential_id", "application_credential_secret")
    for source in simulated.live["spec"]["sources"]:
        name = source["secretRef"]["name"]
        key = Key(simulated.live["metadata"]["namespace"], name)
        keys = credential if "keystone" in name else login
        simulated.add(SECRET, simulation.external_secret(key, keys))


def _service_users(simulated: Simulation) -> None:
    """Users of K-ORC as a ControlPlane creates them."""
    plane = Simulation(ControlPlanePlanner(), planning.an_object("ControlPlane"))
    plane.converge()
    simulated.objects = _without_rotations(plane.objects)


def _without_rotations(found: Objects) -> Objects:
    """A ControlPlane's own rotations would have issued credentials already."""
    return {(k, key): obj for (k, key), obj in found.items() if k.kind != "CredentialRotation"}


_OTHERS: Mapping[str, Callable[[Simulation], None]] = {
    "ControlPlane": _ceph_cluster,
    "OVNCluster": _hypervisor,
    "Neutron": _ovn_cluster,
    "SecretAggregate": _sources,
    "CredentialRotation": _service_users,
}
"""What else exists for an example of a kind."""


class _Dumper(yaml.SafeDumper):
    """Files and scripts as blocks, short mappings and lists in one line, nothing as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        node = super().represent_mapping(tag, mapping, flow_style)
        node.flow_style = _fits([part for pair in node.value for part in pair])
        return node

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
        node = super().represent_sequence(tag, sequence, flow_style)
        node.flow_style = _fits(node.value)
        return node


def _fits(nodes: list[yaml.Node]) -> bool:
    """Whether nodes are plain values that are short enough for one line."""
    if not all(isinstance(each, yaml.ScalarNode) and "\n" not in each.value for each in nodes):
        return False
    return sum(len(each.value) + 2 for each in nodes) <= WIDTH - INDENTATION


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _string)


def _document(desired: Desired) -> str:
    body: dict[str, Any] = {
        "apiVersion": desired.kind.api_version,
        "kind": desired.kind.kind,
        **desired.body,
    }
    if desired.kind == SECRET:
        body["stringData"] = _decoded(body.pop("data", {}))
    written = yaml.dump(_plain(body), Dumper=_Dumper, width=WIDTH, sort_keys=True)
    return f"{''.join(_notes(desired))}{written}"


def _notes(desired: Desired) -> Iterable[str]:
    if desired.once:
        yield "# created once, never changed\n"
    if desired.kept:
        yield "# kept when its owner is deleted\n"


def _decoded(data: Mapping[str, str]) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def _plain(value: Any) -> Any:
    """Plain mappings and lists, with lines that YAML can show as blocks."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _masked(written: str, secrets: Iterable[str]) -> str:
    for name in sorted(secrets):
        for key in openstack.CONTENT:
            written = written.replace(simulation.marker(name, key), f"<from {key} of {name}>")
    return _RANDOM.sub("<random>", written)


if __name__ == "__main__":
    sys.exit(main())
