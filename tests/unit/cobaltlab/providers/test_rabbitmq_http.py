"""Topology objects in the management API."""

import base64
import hashlib

import msgspec

from cobaltcore.api.foreign.rabbitmq import (
    ClusterReference,
    ClusterSpec,
    Configuration,
    Permissions,
    PermissionSpec,
    UserSpec,
    VhostSpec,
)
from cobaltlab.providers import rabbitmq_http, rabbitmq_server

BROKER = ClusterReference(name="mq")


def test_entries_have_the_paths_of_the_management_api() -> None:
    vhost = VhostSpec(name="a/b", rabbitmq_cluster_reference=BROKER, default_queue_type="quorum")
    assert rabbitmq_http.vhost(vhost) == rabbitmq_http.Entry(
        ("vhosts", "a/b"), {"default_queue_type": "quorum"}
    )
    user = UserSpec(rabbitmq_cluster_reference=BROKER, tags=["management", "policymaker"])
    entry = rabbitmq_http.user(user, username="nova", password="hidden")
    assert entry.path == ("users", "nova")
    assert entry.body == {"password": "hidden", "tags": "management,policymaker"}


def test_unset_permissions_are_denied() -> None:
    spec = PermissionSpec(
        rabbitmq_cluster_reference=BROKER,
        vhost="/",
        user="nova",
        permissions=Permissions(read=".*"),
    )
    entry = rabbitmq_http.permission(spec, username="nova")
    assert entry.path == ("permissions", "/", "nova")
    assert entry.body == {"configure": "", "write": "", "read": ".*"}


def test_the_definitions_have_a_hash_instead_of_the_password() -> None:
    text = rabbitmq_http.definitions("admin", "hidden")
    assert "hidden" not in text
    (account,) = msgspec.json.decode(text)["users"]
    decoded = base64.b64decode(account["password_hash"])
    assert decoded[4:] == hashlib.sha256(decoded[:4] + b"hidden").digest()
    assert rabbitmq_http.definitions("admin", "hidden") == text


def test_additional_config_comes_last() -> None:
    configured = Configuration(additional_config="x = 1\n", additional_plugins=["rabbitmq_stream"])
    files = rabbitmq_server.settings(ClusterSpec(rabbitmq=configured))
    assert files["rabbitmq.conf"].endswith("x = 1\n")
    assert files["enabled_plugins"] == "[rabbitmq_management,rabbitmq_stream].\n"
    assert files["advanced.config"] == "[].\n"
