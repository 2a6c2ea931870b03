"""The enforcer of NetworkPolicies in a lab: kube-router's, one process per node. Pure.

It is built and started for labs that ask for it. Rules are in the network namespace of the node and
end with it.
"""

from collections.abc import Mapping
from pathlib import Path

from cobaltcore.api.foreign import kubernetes
from cobaltcore.runtime.meta import Desired
from cobaltlab import nodespec

PROGRAM = "network-policies"
USER = "cobalt:network-policies"
PACKAGES: Mapping[str, str] = {"ipset": "ipset"}
"""Required program: Debian package that contains it."""


def command(program: str, spec: nodespec.NodeSpec, *, kubeconfig: Path) -> list[str]:
    """The process of a node."""
    return [
        program,
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={spec.name}",
        f"--service-cluster-ip-range={spec.subnets.services}",
    ]


def access() -> list[Desired]:
    """What it may read."""
    meta = {"name": USER}
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "watch"]}
        for group, resource in (
            ("", "namespaces"),
            ("", "nodes"),
            ("", "pods"),
            (kubernetes.NETWORK_POLICY.group, kubernetes.NETWORK_POLICY.plural),
        )
    ]
    role = {
        "apiGroup": kubernetes.CLUSTER_ROLE.group,
        "kind": kubernetes.CLUSTER_ROLE.kind,
        "name": USER,
    }
    subject = {"apiGroup": kubernetes.CLUSTER_ROLE.group, "kind": "User", "name": USER}
    return [
        Desired(kubernetes.CLUSTER_ROLE, {"metadata": meta, "rules": rules}),
        Desired(
            kubernetes.CLUSTER_ROLE_BINDING,
            {"metadata": meta, "roleRef": role, "subjects": [subject]},
        ),
    ]
