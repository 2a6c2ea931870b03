"""Configuration files of containerd, CNI, kubelet and kube-proxy. Pure."""

import json
from pathlib import Path
from typing import Any

import yaml

from cobaltlab import nodeprocess, nodespec, pki
from cobaltlab import registry as registry_server

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CONTAINERD_ROOT = "/var/lib/containerd"
PLUGINS = "/usr/lib/cni"
NETWORKS = "/var/lib/cni/networks.d"
DOMAIN = "cluster.local"


def containerd(pause_image: str, *, registries: Path) -> str:
    """config.toml of containerd.

    Without CAP_SYS_RESOURCE the oom_score_adj of a container can only be raised.
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
    """hosts.toml: the registry on the host is the only mirror of all registries."""
    url = f"http://{address}:{port}"
    return f'server = "{url}"\n[host."{url}"]\n  capabilities = ["pull", "resolve"]\n'


def pod_network(spec: nodespec.NodeSpec) -> str:
    """CNI configuration: a bridge per node; routes between nodes exist already."""
    subnet = str(spec.subnets.pod_cidr(spec.number))
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


def kubelet(spec: nodespec.NodeSpec, *, keys: pki.KeyFiles, authority: Path) -> str:
    """KubeletConfiguration.

    Imported images cannot be pulled again, so image garbage collection is off. Every kubelet reports
    the whole machine, because nodes share CPU and memory. Secrets and ConfigMaps are fetched with GET:
    a watch for each would delay the start of a pod by half a second.
    """
    settings: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{nodeprocess.cgroup_of(spec.instance, spec.name)}",
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
        "clusterDNS": [str(spec.subnets.dns)],
        "clusterDomain": DOMAIN,
        "resolvConf": "/etc/resolv.conf",
        "maxPods": 110,
        "serializeImagePulls": False,
        "configMapAndSecretChangeDetectionStrategy": "Get",
    }
    return yaml.safe_dump(settings, sort_keys=False)


def proxy(spec: nodespec.NodeSpec, *, kubeconfig: Path) -> str:
    """KubeProxyConfiguration; conntrack limits are the host's and stay unchanged."""
    settings: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "clusterCIDR": str(spec.subnets.pods),
        "hostnameOverride": spec.name,
        "conntrack": {"maxPerCore": 0},
        "nftables": {"minSyncPeriod": "500ms"},
    }
    return yaml.safe_dump(settings, sort_keys=False)


def resolver(spec: nodespec.NodeSpec) -> str:
    """resolv.conf of the node: CoreDNS."""
    return f"nameserver {spec.subnets.dns}\n"
