"""Configuration files of a node's daemons. Pure."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.lab import machine, pki, ranges
from cobaltcore.lab import registry as registry_server

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CONTAINERD_ROOT = "/var/lib/containerd"
PLUGINS = "/usr/lib/cni"
NETWORKS = "/var/lib/cni/networks.d"
DOMAIN = "cluster.local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One node's place in an instance."""

    instance: str
    name: str
    number: int
    ranges: ranges.Ranges


def containerd(pause_image: str, *, registries: Path) -> str:
    """Settings of the container runtime.

    Without CAP_SYS_RESOURCE a container's score for the out-of-memory killer can be raised only.
    """
    return f"""\
version = 2
root = "{CONTAINERD_ROOT}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", \
"io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", \
"io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "{pause_image}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{NETWORKS}"
"""


def registry(address: str, port: int = registry_server.PORT) -> str:
    """Where to ask for images of any registry: the host, and nobody else."""
    url = f"http://{address}:{port}"
    return f'server = "{url}"\n[host."{url}"]\n  capabilities = ["pull", "resolve"]\n'


def pod_network(seat: Seat) -> str:
    """How pods of the node are connected: a bridge, and routes between the nodes."""
    subnet = str(seat.ranges.pods_of(seat.number))
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]})


def kubelet(seat: Seat, *, keys: pki.KeyFiles, authority: Path) -> str:
    """Settings of the kubelet.

    Images are made here and cannot be pulled again, so they are never collected as garbage. Every
    kubelet offers the whole machine, as nodes share processors and memory. Secrets and ConfigMaps
    are read when a pod needs them: a watch on each costs a pod half a second at its start.
    """
    settings: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{machine.group_of(seat.instance, seat.name)}",
        "failSwapOn": False,
        "failCgroupV1": False,
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(keys.certificate),
        "tlsPrivateKeyFile": str(keys.key),
        "evictionHard": {
            "imagefs.available": "1%",
            "memory.available": "100Mi",
            "nodefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "systemReserved": {"memory": "1Gi"},
        "clusterDNS": [str(seat.ranges.dns)],
        "clusterDomain": DOMAIN,
        "resolvConf": "/etc/resolv.conf",
        "maxPods": 110,
        "serializeImagePulls": False,
        "configMapAndSecretChangeDetectionStrategy": "Get",
    }
    return yaml.safe_dump(settings, sort_keys=False)


def proxy(seat: Seat, *, kubeconfig: Path) -> str:
    """Settings of kube-proxy; without privileges over the host it leaves conntrack limits alone."""
    settings: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "clusterCIDR": str(seat.ranges.pods),
        "hostnameOverride": seat.name,
        "conntrack": {"maxPerCore": 0},
        "nftables": {"minSyncPeriod": "500ms"},
    }
    return yaml.safe_dump(settings, sort_keys=False)


def resolver(seat: Seat) -> str:
    """Name servers of the node and of pods that ask for the node's: the cluster's own."""
    return f"nameserver {seat.ranges.dns}\n"
