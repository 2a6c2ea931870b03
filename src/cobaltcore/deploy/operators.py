"""All objects that run the operators in a cluster, except CRDs, with places for values. Pure.

Charts, `cobalt manifests`, `cobalt install` and the lab render the same parts. The webhook
configurations are not among them: operators register their webhooks when they start, with the CA
bundle of the certificate that they keep in a Secret.
"""

from collections.abc import Iterator, Sequence

from cobaltcore.api import crd
from cobaltcore.api.foreign.kubernetes import CUSTOM_RESOURCE_DEFINITION, SERVICE_ACCOUNT
from cobaltcore.api.foreign.kubernetes import NAMESPACE as NAMESPACE_KIND
from cobaltcore.deploy import admission, processes, symbols, workload_parts
from cobaltcore.deploy.processes import OperatorProcess
from cobaltcore.deploy.symbols import Part, Scope, Value
from cobaltcore.deploy.values import Installation, defaults, merge
from cobaltcore.runtime.meta import Desired

NAME = processes.ALL
NAMESPACE = "c5c3-system"
WEBHOOK_PORT = workload_parts.WEBHOOK_PORT


def objects(
    installation: Installation, running: Sequence[OperatorProcess] | None = None
) -> Iterator[Desired]:
    """Namespace, RBAC, policies, Services and Deployments, in the order to create them.

    A namespace that is watched must exist: what is printed here can be deleted without it.
    """
    check(installation)
    running = running or processes.one_each()
    common = installation.of()
    if common is None or common["watchNamespace"] != installation.namespace:
        yield namespace_object(installation.namespace)
    for process in running:
        if (values := installation.of(process.operator)) is not None:
            yield from symbols.render(parts(process), Scope(installation.namespace, values))


def check(installation: Installation) -> None:
    """Raise unless its values are valid."""
    installation.check(each.operator for each in processes.one_each())


def crds(installation: Installation) -> Iterator[Desired]:
    """The CRDs of all kinds, unless the values leave them out."""
    check(installation)
    values = merge(defaults(), installation.settings)
    for manifest in crd.manifests() if values["crds"]["install"] else ():
        body = {"metadata": manifest["metadata"], "spec": manifest["spec"]}
        yield Desired(CUSTOM_RESOURCE_DEFINITION, body)


def namespace_object(name: str) -> Desired:
    return Desired(NAMESPACE_KIND, {"metadata": {"name": name}})


def parts(process: OperatorProcess) -> list[Part]:
    """The parts of one process."""
    return [*access(process), *_policies(process), *workload_parts.of(process)]


def access(process: OperatorProcess) -> Iterator[Part]:
    """Its account and what that may do, in all namespaces or in one."""
    account = symbols.place("account", process.name)
    everywhere = list(process.access(symbols.NAMESPACE, account=account))
    in_one = list(process.access(symbols.NAMESPACE, symbols.WATCHED, account=account))
    for each in everywhere:
        if each.kind == SERVICE_ACCOUNT:
            yield Part(_annotated(each), ("serviceAccount.create",))
        else:
            yield Part(each, () if each in in_one else ("!watchNamespace",))
    for each in in_one:
        if each not in everywhere:
            yield Part(each, ("watchNamespace",))


def _annotated(account: Desired) -> Desired:
    annotations = Value("serviceAccount.annotations", optional=True)
    metadata = {**account.body["metadata"], "annotations": annotations}
    return account._replace(body={"metadata": metadata})


def _policies(process: OperatorProcess) -> Iterator[Part]:
    served = {kind for each in process.operators for kind in each.rights.serves}
    for each in admission.objects(served):
        yield Part(each, ("!watchNamespace",))
    for each in admission.objects(served, symbols.WATCHED):
        yield Part(each, ("watchNamespace",))
