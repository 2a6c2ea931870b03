"""Every label, annotation and child name in one place. Pure."""

PART_OF = "cobaltcore"
CONFIG_DIGEST = "c5c3.io/config-digest"
SECRET_DIGEST = "c5c3.io/secret-digest"  # noqa: S105 the name of an annotation
ROTATED_AT = "c5c3.io/rotated-at"
USER_ID = 42424
VENV = "/var/lib/openstack"
ENVIRONMENT = "environment"
"""How the Secret ends that holds options which must not be in a ConfigMap."""
HYPERVISORS = {"node-role.kubernetes.io/hypervisor": ""}
"""Labels of nodes that servers run on."""
METADATA_SECRET_KEY = "metadata_proxy_shared_secret"  # noqa: S105 the name of a key


def labels(service: str, instance: str, component: str = "") -> dict[str, str]:
    """Labels of everything that belongs to one instance of a service."""
    found = selector(service, instance, component)
    return found | {
        "app.kubernetes.io/part-of": PART_OF,
        "app.kubernetes.io/managed-by": f"{service}-operator",
    }


def selector(service: str, instance: str, component: str = "") -> dict[str, str]:
    """The labels that never change, by which pods are found."""
    found = {"app.kubernetes.io/name": service, "app.kubernetes.io/instance": instance}
    return found | ({"app.kubernetes.io/component": component} if component else {})


def certificate_secret(instance: str) -> str:
    """The Secret with the certificate of the service's endpoint."""
    return f"{instance}-tls"


def metadata_secret(nova: str) -> str:
    """The Secret that a Nova shares with Neutron's metadata agents."""
    return f"{nova}-metadata"


def metadata_api(nova: str) -> str:
    """The Service of a Nova's metadata API."""
    return f"{nova}-metadata"
