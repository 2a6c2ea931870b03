"""The pods of a service and the addresses of its APIs. Pure."""

from collections.abc import Sequence

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT
from cobaltcore.engine import podfailures, podspec, usability, uwsgi
from cobaltcore.engine.definition import AnyScope, Result, Workload
from cobaltcore.engine.desired import service, workload
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Desired, Key

MAIN = "api"
"""The component whose Service has the name of the object itself."""


def rolled_out(scope: AnyScope, wanted: Sequence[Workload]) -> Result:
    """Run sets of pods; the first that is not ready is named."""
    objects: list[Desired] = []
    waiting: list[str] = []
    nodes = 0
    for each in wanted:
        found = _progress(scope, each)
        objects += _objects(scope, each)
        nodes += found.ready if each.agent else 0
        if not found.settled:
            text = found.describe(
                scope.named(each.component).name, wanted=0 if each.agent else each.replicas
            )
            waiting.append(f"{text}{pod_failure(scope, each.component)}")
    if waiting:
        return Result(Waiting("DeploymentProgressing", waiting[0]), objects)
    message = f"{nodes} nodes" if any(each.agent for each in wanted) else ""
    return Result(Ready("DeploymentAvailable", message), objects)


def apis(scope: AnyScope) -> Result:
    """Give everything that has a port a Service; a ready pod is behind it, and the API is usable."""
    objects: list[Desired] = []
    unserved: list[str] = []
    for each in scope.workloads:
        if not uwsgi.port(scope, each):
            continue
        key = address(scope, each.component)
        objects.append(
            service.service(
                key,
                port=uwsgi.port(scope, each),
                selector=scope.selector(each.component),
                labels=scope.labels(each.component),
            )
        )
        if not any(usability.served(scope, key)):
            unserved.append(f"no ready pod behind Service {key.name!r}")
    if unserved:
        return Result(Waiting("NoEndpoint", unserved[0]), objects)
    return Result(usability.verdict(scope), objects)


def address(scope: AnyScope, component: str) -> Key:
    """The Service of an API."""
    return scope.key if component == MAIN else scope.named(component)


def ready_on_nodes(scope: AnyScope, component: str) -> int:
    """On how many nodes an agent runs."""
    return workload.progress_on_nodes(scope.observed.get(DAEMON_SET, scope.named(component))).ready


def nodes(scope: AnyScope, component: str) -> set[str]:
    """Nodes with a ready pod of an agent."""
    found = podfailures.pods(scope.observed, scope.namespace, scope.selector(component))
    return {each["spec"].get("nodeName", "") for each in found if podfailures.is_ready(each)}


def pod_failure(scope: AnyScope, component: str) -> str:
    """Why pods of a component do not start, as the end of a sentence."""
    return podfailures.of(scope.observed, scope.namespace, scope.selector(component))


def _objects(scope: AnyScope, wanted: Workload) -> list[Desired]:
    key = scope.named(wanted.component)
    selector, pod = scope.selector(wanted.component), podspec.pod(scope, wanted)
    if wanted.agent:
        return [workload.daemon_set(key, selector=selector, pod=pod)]
    return list(workload.deployment(key, replicas=wanted.replicas, selector=selector, pod=pod))


def _progress(scope: AnyScope, wanted: Workload) -> workload.Progress:
    key = scope.named(wanted.component)
    if wanted.agent:
        return workload.progress_on_nodes(scope.observed.get(DAEMON_SET, key))
    return workload.progress(scope.observed.get(DEPLOYMENT, key))
