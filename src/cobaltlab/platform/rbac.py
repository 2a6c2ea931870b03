"""ServiceAccounts and RBAC of operators and providers in a lab. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import CUSTOM_RESOURCE_DEFINITION
from cobaltcore.deploy import operators, processes, rbac
from cobaltcore.engine import rights
from cobaltcore.engine.rights import Rights, Rule
from cobaltcore.runtime import offline
from cobaltcore.runtime.meta import Desired
from cobaltlab.providers import provider

NAMESPACE = operators.NAMESPACE
OPERATORS = operators.NAME
PROVIDERS = "cobalt-providers"
ALL = (PROVIDERS, OPERATORS)
LABEL = rbac.LABEL


def user_name(account: str) -> str:
    """The user name of a ServiceAccount."""
    return f"system:serviceaccount:{NAMESPACE}:{account}"


def objects() -> Iterator[Desired]:
    """ServiceAccounts, roles and bindings of operators and providers."""
    for process in processes.one_for_all():
        yield from process.access(NAMESPACE)
    yield from rbac.account(PROVIDERS, NAMESPACE, provider_roles())


def provider_roles() -> Iterator[Desired]:
    """One ClusterRole per provider, and one for the CRDs that they install."""
    for each in provider.discover().values():
        cluster = offline.cluster()
        controllers = list(each.controllers(provider.Context(cluster, "")))
        written = Rights(serves=each.kinds, creates=each.manages, extra=each.extra_rules)
        watched = rbac.watched_kinds(cluster, controllers)
        yield rights.cluster_role(f"cobalt:provider:{each.name}", written, watched)
    definitions = CUSTOM_RESOURCE_DEFINITION
    rule = Rule(definitions.group, (definitions.plural,), ("create", "get", "patch"))
    yield rights.cluster_role("cobalt:definitions", Rights(extra=(rule,)), ())
