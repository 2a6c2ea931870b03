"""Which processes run the operators: one for each operator, or one for all. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from cobaltcore.api.foreign.kubernetes import LEASE, SECRET
from cobaltcore.deploy import rbac
from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.engine.operator import Operator
from cobaltcore.engine.rights import Rule
from cobaltcore.runtime import offline
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.meta import Desired

ALL = "cobalt-operators"
"""The process that runs all operators."""


@dataclass(frozen=True, slots=True)
class OperatorProcess:
    """A `cobalt run`, with an account of its own."""

    name: str
    """Of the ServiceAccount and the Deployment."""
    operators: tuple[Operator, ...]
    identity: str
    """Of its Lease and webhook configurations, as `cobalt run` names them."""
    arguments: tuple[str, ...] = ()
    """Operators that it runs; none: all."""

    @property
    def operator(self) -> str:
        """Name of its only operator; empty if it has all."""
        return self.arguments[0] if self.arguments else ""

    @property
    def webhook_service(self) -> str:
        """The Service in front of its webhooks; empty if it has none."""
        return f"{self.identity}-webhooks" if self._has_webhooks() else ""

    def access(self, namespace: str, watched: str = "", *, account: str = "") -> Iterator[Desired]:
        """Its ServiceAccount and what that may do: in all namespaces, or in the watched one."""
        account = account or self.name
        own: list[Rule] = [*rbac.named(LEASE, self.identity)]
        roles = list(self._cluster_roles(watched))
        if self.webhook_service:
            name = f"{self.identity}.{watched}" if watched else self.identity
            roles.append(rbac.webhook_role(name))
            own += rbac.named(SECRET, f"{self.identity}-webhooks")
        yield from rbac.account(self.name, namespace, roles, own=own, account=account)
        for each in self.operators if watched else ():
            yield from rbac.roles_in(
                watched, each, process=self.name, account=account, namespace=namespace
            )

    def _cluster_roles(self, watched: str) -> Iterator[Desired]:
        for each in self.operators:
            if not watched:
                yield rbac.operator_role(each)
            elif role := rbac.cluster_role_of_namespaced(each):
                yield role

    def _has_webhooks(self) -> bool:
        table = Webhooks()
        for each in self.operators:
            each.webhooks(Context(offline.cluster(), ""), table)
        return bool(table.defaulting_functions or table.validating_functions)


def one_for_all() -> list[OperatorProcess]:
    """A process for small installations: it may do what any of the operators may."""
    found = tuple(sorted(registry.operators(), key=lambda each: each.name))
    return [OperatorProcess(ALL, found, "cobalt")]


def one_each() -> list[OperatorProcess]:
    """A process for every operator."""
    found = sorted(registry.operators(), key=lambda each: each.name)
    return [
        OperatorProcess(f"cobalt-{each.name}", (each,), f"cobalt-{each.name}", (each.name,))
        for each in found
    ]
