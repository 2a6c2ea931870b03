"""The pods of a service and the addresses of its APIs. Pure."""

from collections.abc import Sequence

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, ENDPOINT_SLICE
from cobaltcore.engine import podspec, trouble, uwsgi
from cobaltcore.engine.definition import Facts, Result, Workload
from cobaltcore.engine.desired import service, workload
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Desired, Key

MAIN = "api"
"""The component whose Service has the name of the object itself."""


def workloads(facts: Facts, wanted: Sequence[Workload]) -> Result:
    """Run sets of pods; the first that is not there yet is named."""
    objects: list[Desired] = []
    waiting: list[str] = []
    nodes = 0
    for each in wanted:
        found = _progress(facts, each)
        objects += _objects(facts, each)
        nodes += found.ready if each.agent else 0
        if not found.settled:
            many = found.wanted or (0 if each.agent else each.replicas(facts.spec))
            name = facts.named(each.component).name
            waiting.append(
                f"{found.ready}/{many} pods of {name!r} ready{trouble_of(facts, each.component)}"
            )
    if waiting:
        return Result(Waiting("DeploymentProgressing", waiting[0]), objects)
    message = f"{nodes} nodes" if any(each.agent for each in wanted) else ""
    return Result(Ready("DeploymentAvailable", message), objects)


def apis(facts: Facts) -> Result:
    """Give every API an address and see that somebody answers there."""
    objects: list[Desired] = []
    silent: list[str] = []
    for each in facts.workloads():
        if not each.module:
            continue
        key = address(facts, each.component)
        objects.append(
            service.service(
                key,
                port=uwsgi.port(facts, each),
                selector=facts.selector(each.component),
                labels=facts.labels(each.component),
            )
        )
        if not _answers(facts, key):
            silent.append(f"no pod answers for Service {key.name!r}")
    if silent:
        return Result(Waiting("NoEndpoint", silent[0]), objects)
    return Result(Ready("Serving"), objects)


def address(facts: Facts, component: str) -> Key:
    """The Service of an API."""
    return facts.key if component == MAIN else facts.named(component)


def ready_on_nodes(facts: Facts, component: str) -> int:
    """On how many nodes an agent runs."""
    return workload.progress_on_nodes(facts.observed.get(DAEMON_SET, facts.named(component))).ready


def trouble_of(facts: Facts, component: str) -> str:
    """What is wrong with the pods of a component, if something is."""
    return trouble.of(facts.observed, facts.key.namespace, facts.selector(component))


def _objects(facts: Facts, wanted: Workload) -> list[Desired]:
    key = facts.named(wanted.component)
    selector, labels = facts.selector(wanted.component), facts.labels(wanted.component)
    template = podspec.template(facts, wanted)
    if wanted.agent:
        return [workload.daemon_set(key, selector=selector, labels=labels, template=template)]
    replicas = wanted.replicas(facts.spec)
    return list(
        workload.deployment(
            key, replicas=replicas, selector=selector, labels=labels, template=template
        )
    )


def _progress(facts: Facts, wanted: Workload) -> workload.Progress:
    key = facts.named(wanted.component)
    if wanted.agent:
        return workload.progress_on_nodes(facts.observed.get(DAEMON_SET, key))
    return workload.progress(facts.observed.get(DEPLOYMENT, key))


def _answers(facts: Facts, key: Key) -> bool:
    return any(
        (endpoint.get("conditions") or {}).get("ready", True)
        for each in facts.observed.find(ENDPOINT_SLICE, "service", str(key))
        for endpoint in each.get("endpoints") or ()
    )
