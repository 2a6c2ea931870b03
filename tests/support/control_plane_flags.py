"""Command lines of the test control plane: small, quick to start, nothing switched off that matters."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import yaml

from cobaltcore.runtime import certificates
from cobaltlab import pki

Flags: TypeAlias = Mapping[str, object]

HOST = "127.0.0.1"
CONTROLLER_MANAGER = "system:kube-controller-manager"
_AUDIT_LOG_MEGABYTES = 100_000
_HOSTS = (HOST, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


def etcd(data: Path, *, port: int, peer_port: int) -> Flags:
    """A lone etcd that leaves flushing to the kernel: its data survives a kill, not a power cut."""
    url, peer_url = f"http://{HOST}:{port}", f"http://{HOST}:{peer_port}"
    return {
        "name": "default",
        "data-dir": data,
        "listen-client-urls": url,
        "advertise-client-urls": url,
        "listen-peer-urls": peer_url,
        "initial-advertise-peer-urls": peer_url,
        "initial-cluster": f"default={peer_url}",
        "socket-reuse-port": "true",
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": 8 * 2**30,
        "log-level": "warn",
    }


def apiserver(
    keys: pki.Pki, *, etcd_port: int, port: int, audit_policy: Path, audit_log: Path
) -> Flags:
    """RBAC, all default admission, an audit log that is written before the answer is sent."""
    serving = keys.certificate("apiserver", certificates.Subject("kube-apiserver", hosts=_HOSTS))
    proxy = certificates.Subject("front-proxy-client", usages=("client",))
    front_proxy = keys.certificate("front-proxy-client", proxy, authority=pki.FRONT_PROXY)
    tokens = keys.service_account_key()
    return {
        "etcd-servers": f"http://{HOST}:{etcd_port}",
        "bind-address": HOST,
        "advertise-address": HOST,
        "secure-port": port,
        "permit-port-sharing": "true",
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "client-ca-file": keys.authority().certificate,
        "anonymous-auth": "false",
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": tokens.certificate,
        "service-account-signing-key-file": tokens.key,
        "requestheader-client-ca-file": keys.authority(pki.FRONT_PROXY).certificate,
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": front_proxy.certificate,
        "proxy-client-key-file": front_proxy.key,
        "service-cluster-ip-range": "10.96.0.0/16",
        "allow-privileged": "true",
        # Loopback is not allowed in an Endpoints object, and nothing here uses that Service.
        "endpoint-reconciler-type": "none",
        "max-requests-inflight": 3000,
        "max-mutating-requests-inflight": 1500,
        "audit-policy-file": audit_policy,
        "audit-log-path": audit_log,
        "audit-log-mode": "blocking",
        "audit-log-maxsize": _AUDIT_LOG_MEGABYTES,
    }


def controller_manager(keys: pki.Pki, *, server: str) -> Flags:
    """All controllers, each under its own account, without their usual start-up rate limit."""
    kubeconfig = keys.kubeconfig(CONTROLLER_MANAGER, server=server)
    authority = keys.authority()
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "secure-port": 0,
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "service-account-private-key-file": keys.service_account_key().key,
        "root-ca-file": authority.certificate,
        "cluster-signing-cert-file": authority.certificate,
        "cluster-signing-key-file": authority.key,
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
    }


def audit_policy(level: str) -> str:
    """Every request at `level`, when its answer starts (watches) and when it is complete."""
    return yaml.safe_dump(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": level}],
        }
    )
