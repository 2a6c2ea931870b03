"""The daemons of a node with flags and start order. Pure, except that missing keys are created."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.runtime import certificates
from cobaltlab import nodeconfig, nodespec, pki, policies, subnets
from cobaltlab.initconfig import Daemon

ADMIN = "admin"
_PROXY_USER = "system:kube-proxy"
_ETCD = "etcd"
_ETCD_URL = "https://127.0.0.1:2379"
_ETCD_PEERS = "https://127.0.0.1:2380"
_CONTAINERD = f"unix:{nodeconfig.CONTAINERD_SOCKET}"
_API_READY = "api-ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Paths of binaries and archives of a lab."""

    directory: Path
    pause_archive: Path

    def path(self, name: str) -> str:
        return str(self.directory / name)


def node_daemons(
    spec: nodespec.NodeSpec, programs: Programs, keys: pki.Pki, home: Path
) -> list[Daemon]:
    """Daemons of every node: containerd, kubelet, kube-proxy.

    kube-proxy starts when the API server is ready: before that its RBAC roles do not exist, and it
    would retry only seconds later.
    """
    api = f"tcp:{spec.subnets.node(0)}:{subnets.API_PORT}"
    kubelet = flags(
        config=home / "kubelet.yaml",
        kubeconfig=home / "kubelet.kubeconfig",
        node_ip=spec.subnets.node(spec.number),
        hostname_override=spec.name,
    )
    importer = ["ctr", "--namespace=k8s.io", "images", "import", str(programs.pause_archive)]
    return [
        Daemon(
            name="containerd",
            command=["containerd", "-c", str(home / "containerd.toml")],
            keeps_data=True,
        ),
        Daemon(name="pause-image", command=importer, after=[_CONTAINERD], once=True),
        Daemon(
            name="kubelet",
            command=[programs.path("kubelet"), *kubelet],
            after=["done:pause-image", api],
        ),
        Daemon(
            name="kube-proxy",
            command=[programs.path("kube-proxy"), *flags(config=home / "proxy.yaml")],
            after=[f"done:{_API_READY}"],
        ),
        Daemon(name=_API_READY, command=_wait_for_api(spec, keys), once=True),
    ]


def network_policies(spec: nodespec.NodeSpec, programs: Programs, keys: pki.Pki) -> Daemon:
    """The enforcer of NetworkPolicies; it needs the Node, and its own RBAC, which come later."""
    kubeconfig = keys.kubeconfig(policies.USER, server=spec.subnets.api_url)
    command = policies.command(programs.path(policies.PROGRAM), spec, kubeconfig=kubeconfig)
    return Daemon(name=policies.PROGRAM, command=command, after=[f"done:{_API_READY}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The daemons of the control plane node only."""

    spec: nodespec.NodeSpec
    programs: Programs
    keys: pki.Pki
    data: Path
    audit_log: Path | None = None

    def daemons(self) -> list[Daemon]:
        return [
            self._daemon("etcd", self._etcd()),
            self._daemon("kube-apiserver", {**self._apiserver(), **self._audit()}),
            # It exits if the bootstrap roles of the API server do not exist yet.
            self._daemon(
                "kube-controller-manager", self._controller_manager(), f"done:{_API_READY}"
            ),
            self._daemon("kube-scheduler", self._scheduler(), f"done:{_API_READY}"),
        ]

    def _daemon(self, name: str, settings: Mapping[str, object], *after: str) -> Daemon:
        command = [self.programs.path(name), *flags(**settings)]
        return Daemon(name=name, command=command, after=list(after), keeps_data=name == _ETCD)

    def _etcd(self) -> dict[str, object]:
        """Clients need a certificate of etcd's own CA.

        Without fsync a killed process loses nothing; a power failure may lose the last writes.
        """
        subject = certificates.Subject(_ETCD, hosts=("127.0.0.1",), usages=("server", "client"))
        pair = self.keys.certificate(_ETCD, subject, authority=_ETCD)
        trusted = self.keys.authority(_ETCD).certificate
        return {
            "data_dir": self.data / "etcd",
            "unsafe_no_fsync": "true",
            "listen_client_urls": _ETCD_URL,
            "advertise_client_urls": _ETCD_URL,
            "listen_peer_urls": _ETCD_PEERS,
            "initial_advertise_peer_urls": _ETCD_PEERS,
            "initial_cluster": f"default={_ETCD_PEERS}",
            "client_cert_auth": "true",
            "trusted_ca_file": trusted,
            "cert_file": pair.certificate,
            "key_file": pair.key,
            "peer_client_cert_auth": "true",
            "peer_trusted_ca_file": trusted,
            "peer_cert_file": pair.certificate,
            "peer_key_file": pair.key,
        }

    def _etcd_client(self) -> dict[str, object]:
        subject = certificates.Subject("apiserver", usages=("client",))
        pair = self.keys.certificate("apiserver-etcd-client", subject, authority=_ETCD)
        return {
            "etcd_servers": _ETCD_URL,
            "etcd_cafile": self.keys.authority(_ETCD).certificate,
            "etcd_certfile": pair.certificate,
            "etcd_keyfile": pair.key,
        }

    def _apiserver(self) -> dict[str, object]:
        plan, keys = self.spec.subnets, self.keys
        hosts = [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            f"kubernetes.default.svc.{nodeconfig.DOMAIN}",
            "localhost",
            "127.0.0.1",
            str(plan.kubernetes),
            str(plan.node(0)),
        ]
        serving = keys.certificate(
            "apiserver", certificates.Subject("kube-apiserver", hosts=tuple(hosts))
        )
        kubelets = keys.client("apiserver-kubelet-client", groups=(pki.ADMINISTRATORS,))
        front = keys.certificate(
            "front-proxy-client",
            certificates.Subject("front-proxy-client", usages=("client",)),
            authority=pki.FRONT_PROXY,
        )
        tokens = keys.service_account_key()
        return {
            **self._etcd_client(),
            "bind_address": "0.0.0.0",  # noqa: S104 in the network namespace of the node
            "secure_port": subnets.API_PORT,
            "advertise_address": plan.node(0),
            "service_cluster_ip_range": plan.services,
            "tls_cert_file": serving.certificate,
            "tls_private_key_file": serving.key,
            "client_ca_file": keys.authority().certificate,
            "kubelet_client_certificate": kubelets.certificate,
            "kubelet_client_key": kubelets.key,
            "kubelet_certificate_authority": keys.authority().certificate,
            "kubelet_preferred_address_types": "InternalIP",
            "service_account_key_file": tokens.certificate,
            "service_account_signing_key_file": tokens.key,
            "service_account_issuer": f"https://kubernetes.default.svc.{nodeconfig.DOMAIN}",
            "requestheader_client_ca_file": keys.authority(pki.FRONT_PROXY).certificate,
            "requestheader_allowed_names": "front-proxy-client",
            "requestheader_username_headers": "X-Remote-User",
            "requestheader_group_headers": "X-Remote-Group",
            "requestheader_extra_headers_prefix": "X-Remote-Extra-",
            "proxy_client_cert_file": front.certificate,
            "proxy_client_key_file": front.key,
            "authorization_mode": "Node,RBAC",
            "enable_admission_plugins": "NodeRestriction",
            "anonymous_auth": "false",
            "allow_privileged": "true",
            "profiling": "false",
        }

    def _audit(self) -> dict[str, object]:
        if self.audit_log is None:
            return {}
        return {
            "audit_log_path": self.audit_log,
            "audit_log_maxsize": 100,
            "audit_log_maxbackup": 3,
            "audit_policy_file": self.data / "audit-policy.yaml",
        }

    def _controller_manager(self) -> dict[str, object]:
        authority, tokens = self.keys.authority(), self.keys.service_account_key()
        return {
            **self._component("system:kube-controller-manager"),
            "use_service_account_credentials": "true",
            "service_account_private_key_file": tokens.key,
            "root_ca_file": authority.certificate,
            "cluster_signing_cert_file": authority.certificate,
            "cluster_signing_key_file": authority.key,
            "node_monitor_period": "1s",
            # At the default client rate limits the controllers take seconds to start.
            "kube_api_qps": 500,
            "kube_api_burst": 1000,
        }

    def _scheduler(self) -> dict[str, object]:
        return self._component("system:kube-scheduler")

    def _component(self, user: str) -> dict[str, object]:
        kubeconfig = self.keys.kubeconfig(user, server=self.spec.subnets.api_url)
        return {
            "kubeconfig": kubeconfig,
            "authentication_kubeconfig": kubeconfig,
            "authorization_kubeconfig": kubeconfig,
            "bind_address": "127.0.0.1",
            "leader_elect": "false",
            "profiling": "false",
        }


def _wait_for_api(spec: nodespec.NodeSpec, keys: pki.Pki) -> list[str]:
    own = keys.client(f"system:node:{spec.name}", groups=("system:nodes",))
    files = (keys.authority().certificate, own.certificate, own.key)
    module = "cobaltlab.apiready"
    return [sys.executable, "-m", module, spec.subnets.api_url, *map(str, files)]


def kubelet_keys(keys: pki.Pki, spec: nodespec.NodeSpec) -> pki.KeyFiles:
    """The serving certificate of a kubelet."""
    address = str(spec.subnets.node(spec.number))
    subject = certificates.Subject(f"system:node:{spec.name}", hosts=(spec.name, address))
    return keys.certificate(f"kubelet-{spec.name}", subject)


def kubelet_kubeconfig(keys: pki.Pki, spec: nodespec.NodeSpec) -> Path:
    user = f"system:node:{spec.name}"
    return keys.kubeconfig(user, server=spec.subnets.api_url, groups=("system:nodes",))


def proxy_kubeconfig(keys: pki.Pki, spec: nodespec.NodeSpec) -> Path:
    """The kubeconfig of kube-proxy, the same on all nodes."""
    return keys.kubeconfig(_PROXY_USER, server=spec.subnets.api_url)


def flags(**settings: object) -> list[str]:
    """Keyword arguments as flags: `node_ip=…` becomes `--node-ip=…`."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
