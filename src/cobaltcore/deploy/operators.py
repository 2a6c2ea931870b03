"""All objects that run the operators in a cluster, except CRDs. Pure.

The webhook configurations are not among them: operators register their webhooks when they start,
with the CA bundle of the certificate that they keep in a Secret.
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from cobaltcore.api.foreign.kubernetes import NAMESPACE as NAMESPACE_KIND
from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.deploy import admission, processes, rbac, workload
from cobaltcore.deploy.processes import OperatorProcess
from cobaltcore.engine import releases
from cobaltcore.engine.desired.placement import Placement
from cobaltcore.engine.podpolicy import PodPolicy
from cobaltcore.runtime.meta import Desired

NAME = processes.ALL
NAMESPACE = "c5c3-system"
WEBHOOK_PORT = 9443


def default_image() -> str:
    """The image of this version of the product."""
    return f"{releases.REGISTRY}/cobaltcore:{version('cobaltcore')}"


def objects(
    *,
    namespace: str,
    image: str,
    running: Sequence[OperatorProcess] | None = None,
    pods: PodPolicy | None = None,
    watched: str = "",
) -> Iterator[Desired]:
    """Namespace, RBAC, policies, webhook Services and Deployments, in the order to create them.

    With `watched` they serve that namespace only. It must exist: what is printed here can be
    deleted without it.
    """
    running = running or processes.one_each()
    if namespace != watched:
        yield namespace_object(namespace)
    for each in running:
        yield from each.access(namespace, watched)
    yield from admission.objects(pods or PodPolicy(), watched)
    for each in running:
        yield from workloads(each, namespace=namespace, image=image, pods=pods, watched=watched)


def namespace_object(name: str) -> Desired:
    return Desired(NAMESPACE_KIND, {"metadata": {"name": name}})


def workloads(
    process: OperatorProcess,
    *,
    namespace: str,
    image: str,
    placement: Placement | None = None,
    pods: PodPolicy | None = None,
    watched: str = "",
) -> Iterator[Desired]:
    """The Service of a process's webhooks, if it has any, and the Deployment behind it."""
    arguments = ["run", *process.arguments]
    if watched:
        arguments.append(f"--watch-namespace={watched}")
    if process.webhook_service:
        yield _webhook_service(process, namespace)
        arguments += [
            f"--webhook-service={namespace}/{process.webhook_service}",
            f"--webhook-port={WEBHOOK_PORT}",
        ]
    yield workload.deployment(
        workload.Process(
            name=process.name,
            namespace=namespace,
            image=image,
            arguments=[*arguments, *_limits(pods or PodPolicy())],
            placement=placement or Placement(),
        )
    )


def _limits(pods: PodPolicy) -> Iterator[str]:
    """Arguments for what differs from the default."""
    if pods.registries != PodPolicy().registries:
        yield f"--allowed-registries={','.join(pods.registries)}"
    if pods.node_labels != PodPolicy().node_labels:
        yield f"--allowed-node-labels={','.join(pods.node_labels)}"


def _webhook_service(process: OperatorProcess, namespace: str) -> Desired:
    labels = {rbac.LABEL: process.name}
    spec = {
        "selector": labels,
        "ports": [{"name": "webhooks", "port": 443, "targetPort": WEBHOOK_PORT}],
    }
    metadata = {"name": process.webhook_service, "namespace": namespace, "labels": labels}
    return Desired(SERVICE, {"metadata": metadata, "spec": spec})
