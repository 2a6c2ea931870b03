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
from cobaltcore.engine import registry, rights
from cobaltcore.engine.context import Context
from cobaltcore.engine.rights import Rights
from cobaltcore.runtime import offline
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Desired, Kind

LABEL = "c5c3.io/platform"


def account(name: str, namespace: str, roles: Iterable[Desired]) -> Iterator[Desired]:
    """A ServiceAccount with ClusterRoles, and a Role for its Leases and Secrets."""
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: name}}
    yield Desired(SERVICE_ACCOUNT, {"metadata": metadata})
    rules = [
        {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": verbs}
        for kind in (LEASE, SECRET)
        for verbs in (["create", "get", "update"],)
    ]
    yield Desired(ROLE, {"metadata": metadata, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    yield Desired(ROLE_BINDING, {"metadata": metadata, **_bind(ROLE, name, subject)})
    for role in roles:
        role_name = role.body["metadata"]["name"]
        metadata = {"name": role_name, "labels": {LABEL: name}}
        yield Desired(CLUSTER_ROLE, {**role.body, "metadata": metadata})
        binding = {"metadata": metadata, **_bind(CLUSTER_ROLE, role_name, subject)}
        yield Desired(CLUSTER_ROLE_BINDING, binding)


def operator_roles() -> Iterator[Desired]:
    """One ClusterRole per operator, so that each can be deployed alone, and one for webhooks."""
    for each in registry.operators():
        cluster = offline.cluster()
        context = Context(cluster, "")
        controllers = list(each.controllers(context))
        each.webhooks(context, Webhooks())
        watched = watched_kinds(cluster, controllers)
        yield rights.cluster_role(f"cobalt:operator:{each.name}", each.rights, watched)
    registrations = (MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)
    yield rights.cluster_role("cobalt:webhooks", Rights(creates=registrations), ())


def watched_kinds(cluster: Cluster, controllers: Iterable[Controller]) -> set[Kind]:
    """Kinds with an informer now, or once the controllers run."""
    sources = {source.kind for each in controllers for source in each.sources}
    return sources | {informer.kind for informer in cluster.informers}


def _bind(kind: Kind, role: str, subject: dict[str, str]) -> dict[str, object]:
    return {
        "roleRef": {"apiGroup": kind.group, "kind": kind.kind, "name": role},
        "subjects": [subject],
    }
