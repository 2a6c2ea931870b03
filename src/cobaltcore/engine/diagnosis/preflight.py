"""What a cluster lacks before operators are installed in it, all at once, each with its fix. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cobaltcore.api.foreign import certmanager, korc, mariadb, rabbitmq
from cobaltcore.engine.desired import names
from cobaltcore.engine.diagnosis.checks import DEFAULT_CLASS, Check
from cobaltcore.runtime.meta import Kind, Object

KUBERNETES = (1, 31)
_GITHUB = "https://github.com"


@dataclass(frozen=True, slots=True)
class ForeignOperator:
    """An operator of others that a ControlPlane uses, and how to get it."""

    program: str
    kinds: tuple[Kind, ...]
    image: str
    """The last part of the name of its image."""
    command: str


THIRD_PARTIES = (
    ForeignOperator(
        "cert-manager",
        (certmanager.CERTIFICATE,),
        "cert-manager-controller",
        "kubectl apply --server-side -f "
        f"{_GITHUB}/cert-manager/cert-manager/releases/latest/download/cert-manager.yaml",
    ),
    ForeignOperator(
        "mariadb-operator",
        (mariadb.MARIADB, mariadb.DATABASE, mariadb.USER, mariadb.GRANT),
        "mariadb-operator",
        "helm repo add mariadb-operator https://helm.mariadb.com/mariadb-operator && "
        "helm install mariadb-operator-crds mariadb-operator/mariadb-operator-crds && "
        "helm install mariadb-operator mariadb-operator/mariadb-operator "
        "-n mariadb-system --create-namespace",
    ),
    ForeignOperator(
        "the RabbitMQ cluster operator",
        (rabbitmq.CLUSTER,),
        "cluster-operator",
        "kubectl apply --server-side -f "
        f"{_GITHUB}/rabbitmq/cluster-operator/releases/latest/download/cluster-operator.yml",
    ),
    ForeignOperator(
        "the RabbitMQ topology operator",
        (rabbitmq.VHOST, rabbitmq.USER, rabbitmq.PERMISSION),
        "messaging-topology-operator",
        f"kubectl apply --server-side -f {_GITHUB}/rabbitmq/messaging-topology-operator/"
        "releases/latest/download/messaging-topology-operator-with-certmanager.yaml",
    ),
    ForeignOperator(
        "K-ORC",
        (korc.USER, korc.SERVICE, korc.ENDPOINT),
        "openstack-resource-controller",
        f"kubectl apply --server-side -f {_GITHUB}/k-orc/openstack-resource-controller/"
        "releases/latest/download/install.yaml",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is known about a cluster."""

    version: str
    unserved: frozenset[Kind]
    nodes: list[Object]
    classes: list[Object]
    deployments: list[Object]
    """All Deployments of the cluster."""
    denied: Mapping[str, list[str]] = field(default_factory=dict)
    """Verbs that the user lacks, by resource."""


def checks(target: Target) -> list[Check]:
    """Every requirement, met or not."""
    return [
        _version(target),
        _permissions(target),
        *(_third_party(each, target) for each in THIRD_PARTIES),
        _storage(target.classes),
        *_nodes(target.nodes),
    ]


def kinds() -> Iterator[Kind]:
    """Kinds of others that must be served."""
    for each in THIRD_PARTIES:
        yield from each.kinds


def _version(target: Target) -> Check:
    found = re.match(r"v?(\d+)\.(\d+)", target.version)
    ok = found is not None and (int(found[1]), int(found[2])) >= KUBERNETES
    least = ".".join(map(str, KUBERNETES))
    return Check(
        name="Kubernetes",
        ok=ok,
        message=f"{target.version}{'' if ok else f' is older than {least}'}",
        fix=f"upgrade the cluster to Kubernetes {least} or newer",
    )


def _permissions(target: Target) -> Check:
    if not target.denied:
        return Check(name="permissions", ok=True, message="the user may install the operators")
    found = (f"{', '.join(verbs)} {resource}" for resource, verbs in target.denied.items())
    return Check(
        name="permissions",
        ok=False,
        message=f"the user may not {'; '.join(found)}",
        fix="as administrator: kubectl create clusterrolebinding cobalt-install "
        "--clusterrole=cluster-admin --user=USER",
    )


def _third_party(each: ForeignOperator, target: Target) -> Check:
    absent = [kind for kind in each.kinds if kind in target.unserved]
    name = f"third party {each.kinds[0].group}"
    if absent:
        listed = ", ".join(kind.kind for kind in absent)
        text = f"{each.program} is not installed: {listed} ({absent[0].group}) not served"
        return Check(name=name, ok=False, message=text, fix=each.command)
    running = [found for found in target.deployments if _version_of(found, each.image)]
    for found in running:
        wanted = found["spec"].get("replicas", 1)
        ready = (found.get("status") or {}).get("readyReplicas", 0)
        key = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
        version = _version_of(found, each.image)
        if ready < 1:
            namespace, _, short = key.partition("/")
            return Check(
                name=name,
                ok=False,
                message=f"{each.program} {version}: {ready}/{wanted} pods of Deployment {key!r} ready",
                fix=f"kubectl -n {namespace} describe deployment {short}",
            )
        return Check(name=name, ok=True, message=f"{each.program} {version} in {key!r}")
    return Check(name=name, ok=True, message=f"served by another operator than {each.program}")


def _version_of(deployment: Object, image: str) -> str:
    """The tag of the image, if a container of a Deployment has it."""
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        name, _, tag = container["image"].partition("@")[0].rpartition("/")[2].partition(":")
        if name == image:
            return tag or "without a tag"
    return ""


def _storage(classes: list[Object]) -> Check:
    chosen = [
        each["metadata"]["name"]
        for each in classes
        if (each["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    if chosen:
        return Check(name="storage", ok=True, message=f"StorageClass {chosen[0]!r} is the default")
    known = ", ".join(sorted(each["metadata"]["name"] for each in classes))
    return Check(
        name="storage",
        ok=False,
        message=f"no StorageClass is the default one of: {known or 'none'}",
        fix=f"kubectl annotate storageclass NAME {DEFAULT_CLASS}=true"
        if known
        else "install a CSI driver, for example Rook, and make its StorageClass the default",
    )


def _nodes(nodes: Iterable[Object]) -> Iterator[Check]:
    ready = [each for each in nodes if _is_usable(each)]
    yield Check(
        name="nodes",
        ok=bool(ready),
        message=f"{len(ready)} nodes are Ready and not cordoned",
        fix="kubectl get nodes; kubectl describe node NAME",
    )
    label = next(iter(names.HYPERVISORS))
    found = [each for each in ready if label in (each["metadata"].get("labels") or {})]
    yield Check(
        name="hypervisors",
        ok=bool(found),
        message=f"{len(found)} of them have the label {label}",
        fix=f"kubectl label node NAME {label}=",
    )


def _is_usable(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not (node.get("spec") or {}).get("unschedulable")
