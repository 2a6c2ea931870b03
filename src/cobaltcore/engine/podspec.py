"""Pods of a service: what all of them mount and how they are probed. Pure."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.engine import configuration, oslo, uwsgi
from cobaltcore.engine.configuration import Carried
from cobaltcore.engine.definition import Facts, NodeAgent, Task, Workload
from cobaltcore.engine.desired import names, pods
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.engine.desired.pods import Container, Rights
from cobaltcore.runtime.meta import Object

JOB_RESOURCES: Mapping[str, Any] = {
    "requests": {"cpu": "100m", "memory": "128Mi"},
    "limits": {"memory": "1Gi"},
}
URGENT_RESOURCES: Mapping[str, Any] = {
    **JOB_RESOURCES,
    "requests": {"cpu": "500m", "memory": "128Mi"},
}
"""Of Jobs of Keystone: all other services wait for it, so it comes before their Jobs."""
HELPER_RESOURCES: Mapping[str, Any] = {
    "requests": {"cpu": "10m", "memory": "32Mi"},
    "limits": {"memory": "256Mi"},
}
"""Of programs that run before or beside an agent of nodes."""


def template(facts: Facts, workload: Workload) -> Object:
    """The pods of a workload."""
    spec = facts.service.base(facts.spec)
    carried = configuration.carried(facts, workload.config)
    settings = workload.settings(facts.spec)
    agent = workload.agent
    helpers = (agent.prepare, agent.beside) if agent else ((), ())
    prepare, beside = ([_helper(facts, workload, carried, e) for e in each] for each in helpers)
    return pods.template(
        [_main(facts, workload, carried), *beside],
        labels=facts.labels(workload.component),
        annotations={names.SECRET_DIGEST: carried.secret_digest},
        settings={
            **pods.placement(spec, settings),
            **(_on_nodes(facts, workload, agent) if agent else {}),
            "terminationGracePeriodSeconds": spec.termination_grace_period_seconds or 30,
        },
        prepare=prepare,
    )


def job_template(facts: Facts, task: Task) -> Object:
    """The pod of a one-time command."""
    spec = facts.service.base(facts.spec)
    if task.prepares:
        carried = configuration.preparation(facts)
        mounts = carried.mounts(facts.service.config_dir)
    else:
        carried = configuration.carried(facts)
        mounts = _mounts(facts, carried)
    container = Container(
        f"{facts.service.name}-{task.name}",
        facts.service.image(facts.spec),
        task.command,
        mounts=mounts,
        environment=_environment(facts),
        secret_environment=task.secret_environment,
        environment_secret=carried.environment.key.name,
        resources=JOB_RESOURCES if hasattr(facts.spec, "keystone") else URGENT_RESOURCES,
    )
    return pods.template(
        [container],
        labels=facts.labels(task.name),
        annotations={},
        settings=pods.placement(spec),
    )


def _main(facts: Facts, workload: Workload, carried: Carried) -> Container:
    spec = facts.service.base(facts.spec)
    port = uwsgi.port(facts, workload)
    sleep = 5 if spec.pre_stop_sleep_seconds is None else spec.pre_stop_sleep_seconds
    secret = carried.environment.key.name
    return Container(
        f"{facts.service.name}-{workload.component}",
        facts.service.image(facts.spec),
        uwsgi.command(facts, workload) if port else workload.command,
        mounts=_workload_mounts(facts, workload, carried),
        environment={**_environment(facts), **workload.environment},
        environment_secret=secret,
        secret_environment={k: (secret, v) for k, v in workload.secret_environment.items()},
        field_environment=workload.agent.values if workload.agent else {},
        port=port,
        probes=_probes(facts, workload, port) if port else {},
        resources=pods.resources(workload.resources, workload.settings(facts.spec), spec),
        pre_stop_sleep=sleep if port else 0,
        rights=Rights(escalate=workload.escalates, privileged=workload.agent is not None),
    )


def _helper(facts: Facts, workload: Workload, carried: Carried, task: Task) -> Container:
    """A program beside a node's agent: it sees what the agent sees."""
    return Container(
        f"{facts.service.name}-{task.name}",
        facts.service.image(facts.spec),
        task.command,
        mounts=_workload_mounts(facts, workload, carried),
        environment={**_environment(facts), **workload.environment},
        field_environment=workload.agent.values if workload.agent else {},
        resources=HELPER_RESOURCES,
        rights=Rights(privileged=True),
    )


def _on_nodes(facts: Facts, workload: Workload, agent: NodeAgent) -> dict[str, Any]:
    """An agent is there for its node: it goes where the node is, whatever keeps others away."""
    settings = workload.settings(facts.spec)
    selector = (settings.node_selector if settings else None) or names.HYPERVISORS
    found: dict[str, Any] = {
        "nodeSelector": {**selector, **agent.labels},
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "priorityClassName": "system-node-critical",
    }
    if settings is None or settings.tolerations is None:
        found["tolerations"] = [{"operator": "Exists"}]
    if settings is not None and settings.priority_class_name:
        found["priorityClassName"] = settings.priority_class_name
    if agent.host_processes:
        found["hostPID"] = True
    if agent.without:
        terms = [
            {"key": key, "operator": "NotIn", "values": list(values)}
            for key, values in sorted(agent.without.items())
        ]
        required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
        found["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    return found


def _environment(facts: Facts) -> dict[str, str]:
    config_dir = facts.service.config_dir
    found = {
        f"OS_{facts.service.name.upper()}_CONFIG_DIR": config_dir,
        "PATH": f"{names.VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": pods.STATE_DIR,
    }
    if _has_authority(facts):
        # Not every client of every service has an option for it.
        found["REQUESTS_CA_BUNDLE"] = oslo.CA_FILE
    return found


def _has_authority(facts: Facts) -> bool:
    auth = getattr(facts.spec, "keystone", None)
    return auth is not None and auth.ca_secret_ref is not None


def _mounts(facts: Facts, carried: Carried) -> list[Mount]:
    found = carried.mounts(facts.service.config_dir)
    if _has_authority(facts):
        folder = oslo.CA_FILE.rpartition("/")[0]
        found.append(Mount("ca", folder, secret=facts.spec.keystone.ca_secret_ref.name))
    return [*found, *facts.service.mounts(facts)]


def _workload_mounts(facts: Facts, workload: Workload, carried: Carried) -> list[Mount]:
    tls = _tls_mounts(facts) if workload.module else []
    return [*_mounts(facts, carried), *tls, *workload.mounts(facts)]


def _tls_mounts(facts: Facts) -> list[Mount]:
    tls = facts.service.base(facts.spec).tls
    if tls is None or not tls.enabled:
        return []
    given = tls.secret_ref.name if tls.secret_ref else ""
    secret = given or names.certificate_secret(facts.key.name)
    return [Mount("tls", uwsgi.TLS_DIR, secret=secret)]


def _probes(facts: Facts, workload: Workload, port: int) -> dict[str, Any]:
    get = {"path": workload.health, "port": port, "scheme": uwsgi.scheme(facts).upper()}
    return {
        "startupProbe": {
            "httpGet": get,
            "periodSeconds": 1,
            "failureThreshold": 120,
            "timeoutSeconds": 5,
        },
        "readinessProbe": {"httpGet": get, "periodSeconds": 5, "timeoutSeconds": 5},
        "livenessProbe": {
            "tcpSocket": {"port": port},
            "periodSeconds": 10,
            "failureThreshold": 6,
            "timeoutSeconds": 5,
        },
    }
