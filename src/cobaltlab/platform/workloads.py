"""Deployments of operators and providers on the nodes of a lab. Pure."""

from collections.abc import Iterator, Mapping

import msgspec

from cobaltcore.deploy import operators as product
from cobaltcore.deploy import processes, symbols, workload, workload_parts
from cobaltcore.deploy.symbols import Scope
from cobaltcore.deploy.values import Installation, image_of
from cobaltcore.engine.desired.placement import EVERY_TAINT, Placement
from cobaltcore.runtime.meta import Desired
from cobaltlab import manifests
from cobaltlab.platform import rbac

WEBHOOK_PORT = product.WEBHOOK_PORT

_PLACEMENT = Placement(node_selector={manifests.CONTROL_PLANE: ""}, tolerations=EVERY_TAINT)


def namespace() -> Desired:
    return product.namespace_object(rbac.NAMESPACE)


def operators(image: str) -> Iterator[Desired]:
    """Deployment and Services of the operators, on the control plane node."""
    settings = {
        "image": image_of(image),
        "replicaCount": 1,
        "nodeSelector": dict(_PLACEMENT.node_selector or {}),
        "tolerations": msgspec.to_builtins(list(EVERY_TAINT)),
    }
    for process in processes.one_for_all():
        found = Installation(rbac.NAMESPACE, settings).of(process.operator)
        yield from symbols.render(workload_parts.of(process), Scope(rbac.NAMESPACE, found or {}))


def providers(image: str, servers: Mapping[str, str]) -> Iterator[Desired]:
    """The Deployment of the providers; `servers` are their server images by name."""
    images = [f"--image={name}={reference}" for name, reference in sorted(servers.items())]
    yield workload.deployment(
        workload.Process(
            name=rbac.PROVIDERS,
            namespace=rbac.NAMESPACE,
            image=image,
            arguments=["providers", *images],
            placement=_PLACEMENT,
        )
    )
