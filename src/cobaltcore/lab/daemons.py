"""What runs in a node, and in which order. Pure, but for keys that are made when missing."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.lab import nodeconfig, pki, ranges
from cobaltcore.lab.nodespec import Daemon
from cobaltcore.runtime import certificates

ADMIN = "admin"
_PROXY_USER = "system:kube-proxy"
_ETCD = "etcd"
_ETCD_URL = "https://127.0.0.1:2379"
_ETCD_PEERS = "https://127.0.0.1:2380"
_CONTAINERD = f"unix:{nodeconfig.CONTAINERD_SOCKET}"
_API_READY = "api-ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the built programs and archives of an instance are."""

    directory: Path
    pause_archive: Path

    def path(self, name: str) -> str:
        """One program of the multi-call binaries."""
        return str(self.directory / name)


def node_daemons(
    seat: nodeconfig.Seat, programs: Programs, keys: pki.Pki, home: Path
) -> list[Daemon]:
    """What every node runs: container runtime, kubelet, service proxy.

    Who asks an API server that has not made its roles yet is refused, and asks again seconds later;
    so the service proxy comes when the API server is ready.
    """
    api = f"tcp:{seat.ranges.node(0)}:{ranges.API_PORT}"
    kubelet = flags(
        config=home / "kubelet.yaml",
        kubeconfig=home / "kubelet.kubeconfig",
        node_ip=seat.ranges.node(seat.number),
        hostname_override=seat.name,
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
        Daemon(name=_API_READY, command=_wait_for_api(seat, keys), once=True),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The programs that only the first node runs."""

    seat: nodeconfig.Seat
    programs: Programs
    keys: pki.Pki
    data: Path
    audit_log: Path | None = None

    def daemons(self) -> list[Daemon]:
        """Data base, API server, and what waits for its first answer."""
        return [
            self._daemon("etcd", self._etcd()),
            self._daemon("kube-apiserver", {**self._apiserver(), **self._audit()}),
            # It gives up when it comes before the roles that the API server makes.
            self._daemon(
                "kube-controller-manager", self._controller_manager(), f"done:{_API_READY}"
            ),
            self._daemon("kube-scheduler", self._scheduler(), f"done:{_API_READY}"),
        ]

    def _daemon(self, name: str, settings: Mapping[str, object], *after: str) -> Daemon:
        command = [self.programs.path(name), *flags(**settings)]
        return Daemon(name=name, command=command, after=list(after), keeps_data=name == _ETCD)

    def _etcd(self) -> dict[str, object]:
        """Only holders of a certificate of etcd's own authority get in, from pods or elsewhere.

        Killed processes lose nothing without a flush per write; a machine without power may.
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
        plan, keys = self.seat.ranges, self.keys
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
            "bind_address": "0.0.0.0",  # noqa: S104 of the node's own network
            "secure_port": ranges.API_PORT,
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
            # One client per controller: at the default rate they take seconds to begin.
            "kube_api_qps": 500,
            "kube_api_burst": 1000,
        }

    def _scheduler(self) -> dict[str, object]:
        return self._component("system:kube-scheduler")

    def _component(self, user: str) -> dict[str, object]:
        kubeconfig = self.keys.kubeconfig(user, server=self.seat.ranges.api_url)
        return {
            "kubeconfig": kubeconfig,
            "authentication_kubeconfig": kubeconfig,
            "authorization_kubeconfig": kubeconfig,
            "bind_address": "127.0.0.1",
            "leader_elect": "false",
            "profiling": "false",
        }


def _wait_for_api(seat: nodeconfig.Seat, keys: pki.Pki) -> list[str]:
    own = keys.client(f"system:node:{seat.name}", groups=("system:nodes",))
    files = (keys.authority().certificate, own.certificate, own.key)
    module = "cobaltcore.lab.apiready"
    return [sys.executable, "-m", module, seat.ranges.api_url, *map(str, files)]


def kubelet_keys(keys: pki.Pki, seat: nodeconfig.Seat) -> pki.KeyFiles:
    """The certificate that a kubelet shows to the API server."""
    address = str(seat.ranges.node(seat.number))
    subject = certificates.Subject(f"system:node:{seat.name}", hosts=(seat.name, address))
    return keys.certificate(f"kubelet-{seat.name}", subject)


def kubelet_kubeconfig(keys: pki.Pki, seat: nodeconfig.Seat) -> Path:
    """The kubeconfig of a kubelet."""
    user = f"system:node:{seat.name}"
    return keys.kubeconfig(user, server=seat.ranges.api_url, groups=("system:nodes",))


def proxy_kubeconfig(keys: pki.Pki, seat: nodeconfig.Seat) -> Path:
    """The kubeconfig of kube-proxy, the same for all nodes."""
    return keys.kubeconfig(_PROXY_USER, server=seat.ranges.api_url)


def flags(**settings: object) -> list[str]:
    """Command line flags, one for each setting."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
