"""Objects of every cluster of the lab: Node labels, CoreDNS, StorageClass. Pure."""

from typing import Any

from cobaltcore.api import ovn
from cobaltcore.api.foreign import kubernetes
from cobaltcore.api.pods import Resources
from cobaltcore.deploy import workload
from cobaltcore.engine.desired.containers import Container, Port, SecurityContext
from cobaltcore.engine.desired.placement import CLUSTER_CRITICAL, EVERY_TAINT, Placement
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import HttpGet, Probe, Probes
from cobaltcore.engine.desired.volumes import ConfigMap, Volume
from cobaltcore.runtime.meta import Desired, Object
from cobaltlab import network, nodeconfig, nodespec, subnets

HYPERVISOR = "node-role.kubernetes.io/hypervisor"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
STORAGE_CLASS = "local"
PROVISIONER = "lab.cobaltcore.local/directory"

_NAME = "coredns"
_NAMESPACE = "kube-system"
_LABELS = {"k8s-app": "kube-dns"}


def node(spec: nodespec.NodeSpec, *, roles: list[str]) -> Desired:
    """The parts of a Node that its kubelet may not set itself."""
    pods = str(spec.subnets.pod_cidr(spec.number))
    meta: dict[str, Any] = {"name": spec.name, "labels": dict.fromkeys(roles, "")}
    if HYPERVISOR in roles:
        address = f"{spec.subnets.tunnel(spec.number)}/{spec.subnets.tunnels.prefixlen}"
        meta["annotations"] = {
            ovn.TUNNEL_ADDRESS: address,
            ovn.TUNNEL_INTERFACE: network.TUNNEL_INTERFACE,
            ovn.UPLINKS: network.EXTERNAL_INTERFACE,
        }
    body = {
        "metadata": meta,
        "spec": {"podCIDR": pods, "podCIDRs": [pods]},
    }
    return Desired(kubernetes.NODE, body)


def storage_class() -> Desired:
    """The default StorageClass: volumes are directories of the node of the first pod."""
    body = {
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return Desired(kubernetes.STORAGE_CLASS, body)


def coredns(plan: subnets.Subnets, *, image: str, node_name: str) -> list[Desired]:
    """CoreDNS with its RBAC, on the one node that has its image."""
    meta = {"name": _NAME, "namespace": _NAMESPACE}
    role = {"metadata": {"name": f"system:{_NAME}"}, "rules": _rules()}
    binding = {
        "metadata": {"name": f"system:{_NAME}"},
        "roleRef": {
            "apiGroup": kubernetes.CLUSTER_ROLE.group,
            "kind": "ClusterRole",
            "name": f"system:{_NAME}",
        },
        "subjects": [{"kind": "ServiceAccount", **meta}],
    }
    return [
        Desired(kubernetes.SERVICE_ACCOUNT, {"metadata": meta}),
        Desired(kubernetes.CLUSTER_ROLE, role),
        Desired(kubernetes.CLUSTER_ROLE_BINDING, binding),
        Desired(kubernetes.CONFIG_MAP, {"metadata": meta, "data": {"Corefile": _corefile()}}),
        Desired(
            kubernetes.DEPLOYMENT, {"metadata": meta, "spec": _deployment(plan, image, node_name)}
        ),
        Desired(kubernetes.SERVICE, _service(plan)),
    ]


def _rules() -> list[dict[str, Any]]:
    core = ["endpoints", "services", "pods", "namespaces"]
    return [
        {"apiGroups": [""], "resources": core, "verbs": ["list", "watch"]},
        {
            "apiGroups": ["discovery.k8s.io"],
            "resources": ["endpointslices"],
            "verbs": ["list", "watch"],
        },
    ]


def _corefile() -> str:
    """Cluster domain only: a lab has no route to an upstream DNS server."""
    return f"""\
.:53 {{
    errors
    health :8181
    ready :8282
    kubernetes {nodeconfig.DOMAIN} in-addr.arpa ip6.arpa {{
        pods verified
        fallthrough in-addr.arpa ip6.arpa
    }}
    cache 30
    loadbalance
    reload
}}
"""


def _deployment(plan: subnets.Subnets, image: str, node_name: str) -> dict[str, Any]:
    pod = Pod(
        containers=[_container(plan, image)],
        labels=_LABELS,
        placement=Placement(
            node_selector={"kubernetes.io/hostname": node_name},
            tolerations=EVERY_TAINT,
            priority_class_name=CLUSTER_CRITICAL,
        ),
        service_account=_NAME,
        dns_policy="Default",
    )
    return {
        "replicas": 1,
        "selector": {"matchLabels": _LABELS},
        "template": pod.template(),
    }


def _container(plan: subnets.Subnets, image: str) -> Container:
    return Container(
        _NAME,
        workload.parse_image(image),
        arguments=("-conf", "/etc/coredns/Corefile"),
        # The node address of the API server: kube-proxy may not serve its cluster IP yet.
        environment={
            "KUBERNETES_SERVICE_HOST": str(plan.node(0)),
            "KUBERNETES_SERVICE_PORT": str(subnets.API_PORT),
        },
        volumes=[Volume("config", "/etc/coredns", ConfigMap(_NAME))],
        ports=[Port("dns", 53, "UDP"), Port("dns-tcp", 53)],
        probes=Probes(
            readiness=Probe(HttpGet("/ready", 8282), period_seconds=1),
            liveness=Probe(HttpGet("/health", 8181), failure_threshold=5),
        ),
        resources=Resources(requests={"cpu": "10m", "memory": "32Mi"}, limits={"memory": "128Mi"}),
        security=SecurityContext("root", ("NET_BIND_SERVICE",)),
        pull_policy="Never",
    )


def _service(plan: subnets.Subnets) -> Object:
    ports = [
        {"name": "dns", "port": 53, "targetPort": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "targetPort": 53, "protocol": "TCP"},
    ]
    return {
        "metadata": {"name": "kube-dns", "namespace": _NAMESPACE},
        "spec": {"clusterIP": str(plan.dns), "selector": _LABELS, "ports": ports},
    }
