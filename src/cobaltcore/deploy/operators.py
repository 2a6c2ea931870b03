"""All objects that run the operators in a cluster, except CRDs. Pure.

The webhook configurations are not among them: operators register their webhooks when they start,
with the CA bundle of the certificate that they keep in a Secret.
"""

from collections.abc import Iterator
from importlib.metadata import version

from cobaltcore.api.foreign.kubernetes import NAMESPACE as NAMESPACE_KIND
from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.deploy import admission, rbac, workload
from cobaltcore.engine import releases
from cobaltcore.engine.desired.placement import Placement
from cobaltcore.engine.podpolicy import PodPolicy
from cobaltcore.runtime.meta import Desired

NAME = "cobalt-operators"
NAMESPACE = "c5c3-system"
WEBHOOK_SERVICE = "cobalt-webhooks"
WEBHOOK_PORT = 9443


def default_image() -> str:
    """The image of this version of the product."""
    return f"{releases.REGISTRY}/cobaltcore:{version('cobaltcore')}"


def objects(*, namespace: str, image: str, pods: PodPolicy | None = None) -> Iterator[Desired]:
    """Namespace, RBAC, policies, webhook Service and Deployment, in the order to create them."""
    yield namespace_object(namespace)
    yield from access(namespace)
    yield from admission.objects(pods or PodPolicy())
    yield from workloads(namespace=namespace, image=image, pods=pods)


def namespace_object(name: str) -> Desired:
    return Desired(NAMESPACE_KIND, {"metadata": {"name": name}})


def access(namespace: str) -> Iterator[Desired]:
    """ServiceAccount and RBAC."""
    return rbac.account(NAME, namespace, rbac.operator_roles())


def workloads(
    *,
    namespace: str,
    image: str,
    placement: Placement | None = None,
    pods: PodPolicy | None = None,
) -> Iterator[Desired]:
    """The Service of the webhooks and the Deployment behind it."""
    yield _webhook_service(namespace)
    yield workload.deployment(
        workload.Process(
            name=NAME,
            namespace=namespace,
            image=image,
            arguments=[
                "run",
                f"--webhook-service={namespace}/{WEBHOOK_SERVICE}",
                f"--webhook-port={WEBHOOK_PORT}",
                *_limits(pods or PodPolicy()),
            ],
            placement=placement or Placement(),
        )
    )


def _limits(pods: PodPolicy) -> Iterator[str]:
    """Arguments for what differs from the default."""
    if pods.registries != PodPolicy().registries:
        yield f"--allowed-registries={','.join(pods.registries)}"
    if pods.node_labels != PodPolicy().node_labels:
        yield f"--allowed-node-labels={','.join(pods.node_labels)}"


def _webhook_service(namespace: str) -> Desired:
    labels = {rbac.LABEL: NAME}
    spec = {
        "selector": labels,
        "ports": [{"name": "webhooks", "port": 443, "targetPort": WEBHOOK_PORT}],
    }
    metadata = {"name": WEBHOOK_SERVICE, "namespace": namespace, "labels": labels}
    return Desired(SERVICE, {"metadata": metadata, "spec": spec})
