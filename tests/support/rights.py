"""Connections of operators and providers with the rights that they have in production."""

from collections.abc import Iterable
from itertools import chain
from typing import Any
from weakref import WeakSet

import yaml

from cobaltcore.deploy import processes
from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.meta import Desired
from cobaltlab.platform import rbac, workloads
from tests.support.control_plane import ControlPlaneHarness

_granted: WeakSet[ControlPlaneHarness] = WeakSet()


def acting(plane: ControlPlaneHarness, agent: str, account: str) -> HttpTransport:
    """A connection of an account: what it may not do is refused by the API server."""
    if plane not in _granted:
        grant(plane)
        _granted.add(plane)
    return _connection(plane, agent, rbac.user_name(account))


def as_operator_of_namespace(
    plane: ControlPlaneHarness, agent: str, name: str, namespace: str
) -> HttpTransport:
    """With the account of an operator that is deployed in the only namespace that it serves."""
    (process,) = [each for each in processes.one_each() if each.arguments == (name,)]
    _apply(plane, process.access(namespace, namespace))
    user = f"system:serviceaccount:{namespace}:{process.name}"
    return _connection(plane, agent, user)


def _connection(plane: ControlPlaneHarness, agent: str, user: str) -> HttpTransport:
    content: dict[str, Any] = yaml.safe_load(plane.kubeconfig().read_text())
    content["users"][0]["user"]["as"] = user
    path = plane.directory / f"{user.replace(':', '-')}.kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return HttpTransport(kubeconfig.load(path, environ={}), agent=agent)


def as_operator(plane: ControlPlaneHarness, agent: str, *names: str) -> HttpTransport:
    """With the account of one operator, or of the process that runs all of them."""
    accounts = [each.name for each in processes.one_each() if {*each.arguments} == {*names}]
    return acting(plane, agent, accounts[0] if accounts else rbac.OPERATORS)


def as_provider(plane: ControlPlaneHarness, agent: str) -> HttpTransport:
    return acting(plane, agent, rbac.PROVIDERS)


def grant(plane: ControlPlaneHarness) -> None:
    """Make the accounts with their roles."""
    separate = (each.access(rbac.NAMESPACE) for each in processes.one_each())
    _apply(plane, [workloads.namespace(), *rbac.objects(), *chain.from_iterable(separate)])


def _apply(plane: ControlPlaneHarness, objects: Iterable[Desired]) -> None:
    text = yaml.safe_dump_all(
        {"apiVersion": each.kind.api_version, "kind": each.kind.kind, **each.body}
        for each in objects
    )
    plane.kubectl("apply", "--server-side", "-f", "-", input=text)
