"""Objects that every cluster of the lab has: nodes' labels, name server, storage class. Pure."""

from typing import Any

from cobaltcore.api import ovn
from cobaltcore.api.foreign import kubernetes
from cobaltcore.lab import links, nodeconfig, ranges
from cobaltcore.runtime.meta import Desired, Object

HYPERVISOR = "node-role.kubernetes.io/hypervisor"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
STORAGE_CLASS = "local"
PROVISIONER = "lab.cobaltcore.local/directory"

_NAME = "coredns"
_NAMESPACE = "kube-system"
_LABELS = {"k8s-app": "kube-dns"}


def node(seat: nodeconfig.Seat, *, roles: list[str]) -> Desired:
    """The parts of a Node that its kubelet may not set itself."""
    pods = str(seat.ranges.pods_of(seat.number))
    meta: dict[str, Any] = {"name": seat.name, "labels": dict.fromkeys(roles, "")}
    if HYPERVISOR in roles:
        address = f"{seat.ranges.tunnel(seat.number)}/{seat.ranges.tunnels.prefixlen}"
        meta["annotations"] = {
            ovn.TUNNEL_ADDRESS: address,
            ovn.TUNNEL_INTERFACE: links.TUNNELS,
            ovn.UPLINKS: links.OUTSIDE,
        }
    body = {
        "metadata": meta,
        "spec": {"podCIDR": pods, "podCIDRs": [pods]},
    }
    return Desired(kubernetes.NODE, body)


def storage_class() -> Desired:
    """Volumes that are directories of the node where the first pod lands."""
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


def name_server(plan: ranges.Ranges, *, image: str, node_name: str) -> list[Desired]:
    """CoreDNS with the rights to see Services, on the one node that has its image."""
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
    """Names of the cluster only: there is nobody outside whom a lab may ask."""
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


def _deployment(plan: ranges.Ranges, image: str, node_name: str) -> dict[str, Any]:
    volume = {"name": "config", "configMap": {"name": _NAME}}
    pod = {
        "serviceAccountName": _NAME,
        "dnsPolicy": "Default",
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"kubernetes.io/hostname": node_name},
        "tolerations": [{"operator": "Exists"}],
        "containers": [_container(plan, image)],
        "volumes": [volume],
    }
    return {
        "replicas": 1,
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod},
    }


def _container(plan: ranges.Ranges, image: str) -> dict[str, Any]:
    return {
        "name": _NAME,
        "image": image,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        # Straight to the API server: the way by its Service opens later, and names are needed first.
        "env": [
            {"name": "KUBERNETES_SERVICE_HOST", "value": str(plan.node(0))},
            {"name": "KUBERNETES_SERVICE_PORT", "value": str(ranges.API_PORT)},
        ],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8282}, "periodSeconds": 1},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8181}, "failureThreshold": 5},
        "resources": {
            "requests": {"cpu": "10m", "memory": "32Mi"},
            "limits": {"memory": "128Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        },
    }


def _service(plan: ranges.Ranges) -> Object:
    ports = [
        {"name": "dns", "port": 53, "targetPort": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "targetPort": 53, "protocol": "TCP"},
    ]
    return {
        "metadata": {"name": "kube-dns", "namespace": _NAMESPACE},
        "spec": {"clusterIP": str(plan.dns), "selector": _LABELS, "ports": ports},
    }
