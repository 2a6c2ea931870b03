"""ServiceAccounts and RBAC of processes that run controllers. Pure.

Read rights follow from the informers that controllers ask for; write rights are declared by each
operator.
"""

from collections.abc import Iterable, Iterator

from cobaltcore.api.foreign.kubernetes import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    LEASE,
    MUTATING_WEBHOOK_CONFIGURATION,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE_ACCOUNT,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.engine import rights
from cobaltcore.engine.context import Context
from cobaltcore.engine.operator import Operator
from cobaltcore.engine.rights import Rule
from cobaltcore.runtime import offline
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Desired, Kind

LABEL = "c5c3.io/platform"


def account(
    name: str,
    namespace: str,
    roles: Iterable[Desired],
    *,
    own: Iterable[Rule] | None = None,
    account: str = "",
) -> Iterator[Desired]:
    """A ServiceAccount with ClusterRoles, and a Role for `own`: by default Leases and Secrets."""
    account = account or name
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: name}}
    yield Desired(SERVICE_ACCOUNT, {"metadata": {**metadata, "name": account}})
    if own is None:
        verbs = ("create", "get", "update")
        own = [Rule(kind.group, (kind.plural,), verbs) for kind in (LEASE, SECRET)]
    yield Desired(ROLE, {"metadata": metadata, "rules": rights.rules_of(own)})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    yield Desired(ROLE_BINDING, {"metadata": metadata, **_bind(ROLE, name, subject)})
    for role in roles:
        role_name = role.body["metadata"]["name"]
        metadata = {"name": role_name, "labels": {LABEL: name}}
        yield Desired(CLUSTER_ROLE, {**role.body, "metadata": metadata})
        # Several accounts may have the role.
        binding = {**metadata, "name": f"{role_name}:{namespace}:{name}"}
        yield Desired(
            CLUSTER_ROLE_BINDING,
            {"metadata": binding, **_bind(CLUSTER_ROLE, role_name, subject)},
        )


def named(kind: Kind, name: str) -> Iterator[Rule]:
    """Keeping one object; RBAC cannot limit the names of what is created."""
    yield Rule(kind.group, (kind.plural,), ("create",))
    yield Rule(kind.group, (kind.plural,), ("get", "update"), (name,))


def operator_role(each: Operator) -> Desired:
    """What one operator may do in all namespaces."""
    return rights.cluster_role(_role_name(each), each.rights, kinds_watched_by(each))


def cluster_role_of_namespaced(each: Operator) -> Desired | None:
    """What one operator that serves a namespace may do to kinds without namespaces."""
    return rights.in_namespace(f"{_role_name(each)}:nodes", each.rights, kinds_watched_by(each))[1]


def roles_in(
    watched: str, each: Operator, *, process: str, account: str, namespace: str
) -> Iterator[Desired]:
    """What one operator may do in the namespace that it serves."""
    rules, _ = rights.in_namespace("", each.rights, kinds_watched_by(each))
    name = _role_name(each)
    metadata = {"name": name, "namespace": watched, "labels": {LABEL: process}}
    yield Desired(ROLE, {"metadata": metadata, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    binding = {**metadata, "name": f"{name}:{namespace}:{process}"}
    yield Desired(ROLE_BINDING, {"metadata": binding, **_bind(ROLE, name, subject)})


def _role_name(each: Operator) -> str:
    return f"cobalt:operator:{each.name}"


def kinds_watched_by(each: Operator) -> set[Kind]:
    """Kinds that one operator reads."""
    cluster = offline.cluster()
    context = Context(cluster, "")
    controllers = list(each.controllers(context))
    each.webhooks(context, Webhooks())
    return watched_kinds(cluster, controllers)


def webhook_role(name: str) -> Desired:
    """Keeping the two webhook configurations of that name, which the role owns."""
    kinds = (MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)
    role = webhook_role_name(name)
    rules = (
        Rule(
            kinds[0].group,
            tuple(kind.plural for kind in kinds),
            ("create", "delete", "get", "patch"),
            (name,),
        ),
        Rule(CLUSTER_ROLE.group, (CLUSTER_ROLE.plural,), ("get",), (role,)),
    )
    return Desired(CLUSTER_ROLE, {"metadata": {"name": role}, "rules": rights.rules_of(rules)})


def webhook_role_name(registration: str) -> str:
    """The ClusterRole that allows a registration of webhooks."""
    return f"cobalt:webhooks:{registration}"


def watched_kinds(cluster: Cluster, controllers: Iterable[Controller]) -> set[Kind]:
    """Kinds with an informer now, or once the controllers run."""
    sources = {source.kind for each in controllers for source in each.sources}
    return sources | {informer.kind for informer in cluster.informers}


def _bind(kind: Kind, role: str, subject: dict[str, str]) -> dict[str, object]:
    return {
        "roleRef": {"apiGroup": kind.group, "kind": kind.kind, "name": role},
        "subjects": [subject],
    }
