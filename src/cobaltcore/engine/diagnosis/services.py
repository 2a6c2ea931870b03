"""Services that others need, such as DNS and webhooks: whether a pod answers behind them. Pure."""

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, ENDPOINT_SLICE, POD
from cobaltcore.engine.diagnosis import commands
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named, named
from cobaltcore.runtime.meta import Object

SERVICE_NAME = "kubernetes.io/service-name"


def inspect(facts: Facts, service: Named) -> Inspection | None:
    found = facts.get(service.kind, service.key)
    if found is None:
        text = f"{service} does not exist in namespace {service.key.namespace!r}"
        command = commands.kubectl(service, "get", "services")
        return Inspection(Cause(service, "NotFound", text, command))
    if any(_is_served(each, service) for each in facts.of(ENDPOINT_SLICE, service.key.namespace)):
        return None
    text = f"no ready pod behind {service} in namespace {service.key.namespace!r}"
    cause = Cause(service, "NoEndpoint", text, commands.describe(service))
    selector = found["spec"].get("selector") or {}
    if not selector:
        return Inspection(cause)
    deployments = facts.of(DEPLOYMENT, service.key.namespace)
    pods = facts.of(POD, service.key.namespace)
    behind = [
        named(DEPLOYMENT, d) for d in deployments if _selects(selector, d["spec"]["template"])
    ]
    return Inspection(cause, [*behind, *(named(POD, p) for p in pods if _selects(selector, p))])


def _is_served(slice_: Object, service: Named) -> bool:
    labels = slice_["metadata"].get("labels") or {}
    return labels.get(SERVICE_NAME) == service.key.name and any(
        (endpoint.get("conditions") or {}).get("ready", True)
        for endpoint in slice_.get("endpoints") or ()
    )


def _selects(selector: dict[str, str], obj: Object) -> bool:
    return selector.items() <= (obj["metadata"].get("labels") or {}).items()
