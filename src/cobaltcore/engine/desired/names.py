"""Every label, annotation and child name in one place. Pure."""

PART_OF = "cobaltcore"
NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "app.kubernetes.io/component"
CONFIG_DIGEST = "c5c3.io/config-digest"
SECRET_DIGEST = "c5c3.io/secret-digest"  # noqa: S105 the name of an annotation
ROTATED_AT = "c5c3.io/rotated-at"
DELETE_DATA = "c5c3.io/delete-data"
"""On a server: its volumes are deleted with it."""
SUPERSEDED = "c5c3.io/superseded"
"""Since when old keys of a Secret encrypt nothing any more: number to time, as JSON."""
USER_ID = 42424
VENV = "/var/lib/openstack"
SECRET_OPTIONS = "secret-options"  # noqa: S105 the end of a name
"""Suffix of the Secret with options that must not be in a ConfigMap."""
HYPERVISORS = {"node-role.kubernetes.io/hypervisor": ""}
"""Label of hypervisor nodes."""
OPENSTACK_CLIENT = {"c5c3.io/openstack-client": "true"}
"""Label of pods next to a control plane that call its APIs as clients from outside do."""
CACHE_SECRET_KEY = "memcache_secret_key"  # noqa: S105 the name of a key
METADATA_SECRET_KEY = "metadata_proxy_shared_secret"  # noqa: S105 the name of a key


MARIADB, RABBITMQ, MEMCACHED, VALKEY = "mariadb", "rabbitmq", "memcached", "valkey"
"""Backing services of a ControlPlane."""
MARIADB_ROOT = f"{MARIADB}-root"
"""The Secret with the password of a ControlPlane's database server."""
ADMIN_SECRET = "keystone-admin-credentials"  # noqa: S105 the name of a Secret


def labels(service: str, instance: str, component: str = "") -> dict[str, str]:
    """Labels of everything that belongs to one instance of a service."""
    found = selector(service, instance, component)
    return found | {
        "app.kubernetes.io/part-of": PART_OF,
        "app.kubernetes.io/managed-by": f"{service}-operator",
    }


def selector(service: str, instance: str, component: str = "") -> dict[str, str]:
    """The labels that never change, by which pods are found."""
    found = {NAME: service, INSTANCE: instance}
    return found | ({COMPONENT: component} if component else {})


def database_secret(service: str) -> str:
    """The Secret with a service's database login."""
    return f"{service}-db-credentials"


def messaging_secret(service: str) -> str:
    """The Secret with a service's RabbitMQ login."""
    return f"{service}-rabbitmq-credentials"


def admin_login(keystone: str) -> str:
    """The Secret with the administrator's login as a Keystone has it; `password` is set once it does."""
    return f"{keystone}-admin-login"


def certificate_secret(instance: str) -> str:
    """The Secret with the certificate of the service's endpoint."""
    return f"{instance}-tls"


def metadata_secret(nova: str) -> str:
    """The Secret that a Nova shares with Neutron's metadata agents."""
    return f"{nova}-metadata"


def cache_secret(instance: str) -> str:
    """The Secret with the key that an instance encrypts what it caches with."""
    return f"{instance}-cache"


def metadata_api(nova: str) -> str:
    """The Service of a Nova's metadata API."""
    return f"{nova}-metadata"
