"""Objects of the RabbitMQ provider's tests, all valid for the real operators, too."""

from functools import partial
from typing import Any

from cobaltcore.api.foreign.rabbitmq import CLUSTER, PERMISSION, POLICY, USER, VHOST
from cobaltcore.runtime.meta import Key, Object
from cobaltlab.providers import rabbitmq
from cobaltlab.providers.provider import Provider
from tests.support.providers import an_object
from tests.support.rabbitmq import RabbitMQHarness

IMAGE = "example.invalid/rabbitmq:1"
CLAIM = "persistence-mq-server-0"
REFERENCE = {"name": "mq"}


def provided(broker: RabbitMQHarness) -> Provider:
    """The provider, to which every Service seems to be a broker on loopback."""
    found = rabbitmq.PROVIDER
    controllers = partial(rabbitmq.controllers, address=lambda service: broker.url)
    return Provider(found.name, found.kinds, controllers)


def a_cluster(namespace: str, **spec: Any) -> Object:
    fields = {"image": IMAGE, "persistence": {"storage": "1Gi"}, **spec}
    return an_object(CLUSTER, Key(namespace, "mq"), fields)


def a_vhost(namespace: str, name: str, **spec: Any) -> Object:
    fields = {"name": name, "rabbitmqClusterReference": REFERENCE, **spec}
    return an_object(VHOST, Key(namespace, "nova"), fields)


def a_user(namespace: str, **spec: Any) -> Object:
    fields = {"rabbitmqClusterReference": REFERENCE, "tags": ["management"], **spec}
    return an_object(USER, Key(namespace, "nova"), fields)


def a_permission(namespace: str, vhost: str, **spec: Any) -> Object:
    fields = {
        "rabbitmqClusterReference": REFERENCE,
        "vhost": vhost,
        "userReference": {"name": "nova"},
        "permissions": {"configure": ".*", "write": ".*", "read": ".*"},
        **spec,
    }
    return an_object(PERMISSION, Key(namespace, "nova"), fields)


def a_policy(namespace: str, vhost: str) -> Object:
    fields = {
        "rabbitmqClusterReference": REFERENCE,
        "name": "short",
        "vhost": vhost,
        "pattern": ".*",
        "applyTo": "queues",
        "definition": {"message-ttl": 60000},
    }
    return an_object(POLICY, Key(namespace, "nova"), fields)
