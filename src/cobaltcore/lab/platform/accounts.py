"""Accounts of operators and providers, with exactly the rights that their controllers need. Pure.

Nobody keeps a list: what is read follows from the caches that controllers ask for when they are
made, what is written is declared by each operator and provider.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager

from cobaltcore.api.foreign.kubernetes import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    LEASE,
    MUTATING_WEBHOOK_CONFIGURATION,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE_ACCOUNT,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.engine import registry, rights
from cobaltcore.engine.operator import Context
from cobaltcore.engine.rights import Rights, Rule
from cobaltcore.lab.providers import provider
from cobaltcore.runtime import errors
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Desired, Kind
from cobaltcore.runtime.transport import Request, Response, Socket

NAMESPACE = "c5c3-system"
OPERATORS = "cobalt-operators"
PROVIDERS = "cobalt-providers"
ALL = (PROVIDERS, OPERATORS)
LABEL = "c5c3.io/platform"

_OWN = "cobalt:webhooks"
_DEFINITIONS = "cobalt:definitions"


def user(account: str) -> str:
    """How the API server names an account."""
    return f"system:serviceaccount:{NAMESPACE}:{account}"


def objects() -> Iterator[Desired]:
    """All accounts, roles and bindings."""
    for account in ALL:
        meta = {"name": account, "namespace": NAMESPACE, "labels": {LABEL: account}}
        yield Desired(SERVICE_ACCOUNT, {"metadata": meta})
        yield from _own_objects(account)
    for account, roles in ((OPERATORS, operator_roles()), (PROVIDERS, provider_roles())):
        for role in roles:
            role.body["metadata"]["labels"] = {LABEL: account}
            yield role
            yield _binding(role.body["metadata"]["name"], account)


def operator_roles() -> Iterator[Desired]:
    """One role per operator, so that each may also be deployed alone."""
    for each in registry.operators():
        cluster = Cluster(Client(Nowhere()))
        context = Context(cluster, "")
        controllers = list(each.controllers(context))
        each.webhooks(context, Webhooks())
        reads = _read(cluster, controllers)
        yield rights.cluster_role(f"cobalt:operator:{each.name}", each.rights, reads)
    yield rights.cluster_role(
        _OWN,
        Rights(makes=(MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)),
        (),
    )


def provider_roles() -> Iterator[Desired]:
    """One role per provider, and one for the kinds that they install."""
    for each in provider.discover().values():
        cluster = Cluster(Client(Nowhere()))
        reads = _read(cluster, list(each.controllers(provider.Setting(cluster, ""))))
        written = Rights(serves=each.kinds, makes=each.makes, extra=each.extra)
        yield rights.cluster_role(f"cobalt:provider:{each.name}", written, reads)
    definitions = CUSTOM_RESOURCE_DEFINITION
    rule = Rule(definitions.group, (definitions.plural,), ("create", "get", "patch"))
    yield rights.cluster_role(_DEFINITIONS, Rights(extra=(rule,)), ())


def _read(cluster: Cluster, controllers: Iterable[Controller]) -> set[Kind]:
    """Kinds that are cached, or will be once the controllers run."""
    watched = {source.kind for each in controllers for source in each.sources}
    return watched | {informer.kind for informer in cluster.informers}


def _own_objects(account: str) -> list[Desired]:
    """In its own namespace a process keeps a lease and, for webhooks, a certificate."""
    meta = {"name": account, "namespace": NAMESPACE, "labels": {LABEL: account}}
    verbs = ["create", "get", "update"]
    role = {
        "metadata": meta,
        "rules": [
            {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": verbs}
            for kind in (LEASE, SECRET)
        ],
    }
    binding = {"metadata": meta, **_bound(ROLE, account, account)}
    return [Desired(ROLE, role), Desired(ROLE_BINDING, binding)]


def _binding(role: str, account: str) -> Desired:
    meta = {"name": role, "labels": {LABEL: account}}
    return Desired(CLUSTER_ROLE_BINDING, {"metadata": meta, **_bound(CLUSTER_ROLE, role, account)})


def _bound(kind: Kind, role: str, account: str) -> dict[str, object]:
    return {
        "roleRef": {"apiGroup": kind.group, "kind": kind.kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    }


def _asked(request: Request) -> errors.RuntimeFault:
    return errors.RuntimeFault(
        f"asked while it is only looked at: {request.method} {request.path}"
    )


class Nowhere:
    """For controllers that are only looked at: nobody is asked."""

    async def send(self, request: Request) -> Response:
        raise _asked(request)

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise _asked(request)

    def converse(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        raise _asked(request)

    async def close(self) -> None:
        return
