"""NetworkPolicies of a control plane: the calls that its parts declare, nothing else. Pure.

Who calls databases, broker and caches follows from the specs of the services, who calls APIs from
their parts. Programs in the network of their node call from its addresses.
"""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network

from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.api.ovn import NB_PORT, SB_PORT
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.desired import memcached, names, network
from cobaltcore.engine.desired.names import MARIADB, MEMCACHED, RABBITMQ, VALKEY
from cobaltcore.engine.desired.network import Ingress
from cobaltcore.operators.controlplane import available, identity, ovn, services
from cobaltcore.operators.controlplane.view import OPERATOR, View
from cobaltcore.runtime.meta import Desired, Object

SQL = 3306
AMQP = (5671, 5672)
"""With and without TLS."""


def objects(view: View) -> Iterator[Desired]:
    """A policy for each part that has pods."""
    if not view.spec.global_.network_policy.enabled:
        return
    policies = _Policies(view)
    yield from policies.servers()
    for service in policies.services:
        yield policies.service(service)


class _Policies:
    """The policies of one ControlPlane."""

    def __init__(self, view: View) -> None:
        self.services = [each for each in available.all_services() if available.is_on(each, view)]
        self._view = view
        settings = view.spec.global_.network_policy
        nodes = view.observed.list(NODE)
        further = [ip_network(each, strict=False) for each in settings.node_networks or ()]
        self._nodes = network.blocks([*network.node_addresses(nodes), *further])
        self._operators = network.namespaces(settings.operator_namespaces)
        self._clients = [
            *network.outside(network.pod_networks(nodes)),
            *network.namespaces(settings.client_namespaces or ()),
            *self._operators,
            network.pods(names.OPENSTACK_CLIENT),
        ]

    def servers(self) -> Iterator[Desired]:
        """What services store their data in: reached by them, by each other and by operators."""
        broker = {names.NAME: RABBITMQ, names.COMPONENT: "rabbitmq"}
        cache = names.selector(OPERATOR, self._view.name, MEMCACHED)
        agents = any(available.part_of(each).messaging_from_nodes for each in self.services)
        messaging = [*self._users_of("messaging"), *(self._nodes if agents else ())]
        yield self._servers(MARIADB, names.selector("mariadb", MARIADB), self._sql())
        yield self._servers(RABBITMQ, broker, Ingress(messaging, AMQP))
        yield self._servers(MEMCACHED, cache, Ingress(self._users_of("cache"), [memcached.PORT]))
        if self._view.spec.infrastructure.valkey is not None:
            yield self._servers(VALKEY, names.selector("valkey", VALKEY))
        if self._view.spec.infrastructure.ovn.cluster_ref is None and self._users_of("ovn"):
            yield self._servers(
                ovn.NAME,
                names.selector("ovn", ovn.NAME),
                Ingress(self._users_of("ovn"), [NB_PORT, SB_PORT]),
                Ingress(self._nodes, [SB_PORT]),
            )

    def service(self, service: AnyService) -> Desired:
        """The pods of a service: its API, and what else they listen on."""
        listeners = available.part_of(service).listeners
        public = [service.port, *(each.port for each in listeners if each.public)]
        of_nodes = [each.port for each in listeners if not each.public]
        return self._policy(
            service.name,
            _selector(service),
            Ingress(self._callers(service), [service.port]),
            Ingress(self._clients, public),
            *([Ingress(self._nodes, of_nodes)] if of_nodes else []),
        )

    def _sql(self) -> Ingress:
        return Ingress(self._users_of("database"), [SQL])

    def _servers(self, part: str, selector: Mapping[str, str], *clients: Ingress) -> Desired:
        own = Ingress([network.pods(selector), *self._operators])
        return self._policy(part, selector, own, *clients)

    def _policy(self, part: str, selector: Mapping[str, str], *ingress: Ingress) -> Desired:
        return network.network_policy(
            self._view.named(part),
            selector=selector,
            ingress=ingress,
            labels=self._view.labels(part),
        )

    def _users_of(self, block: str) -> list[Object]:
        """Pods of the services in whose spec a block is set."""
        specs = {each.name: self._spec(each) for each in self.services}
        return [
            network.pods(_selector(each))
            for each in self.services
            if getattr(specs[each.name], block, None) is not None
        ]

    def _spec(self, service: AnyService) -> object:
        project = available.part_of(service).project
        return self._view.once(
            ("policies", service.name), lambda: project(services.parent(self._view, service))
        )

    def _callers(self, service: AnyService) -> list[Object]:
        """Pods of the services that call an API, and of the Job that sets regions in Keystone."""
        if service.name == identity.KEYSTONE:
            job = names.selector(OPERATOR, self._view.name, "catalogue")
            with_login = [each for each in self.services if available.part_of(each).roles]
            return [*(network.pods(_selector(each)) for each in with_login), network.pods(job)]
        return [
            network.pods(_selector(each))
            for each in self.services
            if service.name in available.part_of(each).calls
        ]


def _selector(service: AnyService) -> dict[str, str]:
    """A ControlPlane's object of a service has the service's name."""
    return names.selector(service.name, service.name)
