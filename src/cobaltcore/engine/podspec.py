"""Pods of a service: what all of them mount and how they are probed. Pure."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.engine import configuration, oslo, uwsgi
from cobaltcore.engine.definition import Facts, Task, Workload
from cobaltcore.engine.desired import names, pods
from cobaltcore.engine.desired.pods import Container, Mount
from cobaltcore.runtime.meta import Object

JOB_RESOURCES: Mapping[str, Any] = {
    "requests": {"cpu": "100m", "memory": "128Mi"},
    "limits": {"memory": "1Gi"},
}


def template(facts: Facts, workload: Workload) -> Object:
    """The pods of a workload."""
    spec = facts.service.base(facts.spec)
    carried = configuration.carried(facts)
    settings = workload.settings(facts.spec)
    is_api = bool(workload.module)
    sleep = 5 if spec.pre_stop_sleep_seconds is None else spec.pre_stop_sleep_seconds
    container = Container(
        f"{facts.service.name}-{workload.component}",
        facts.service.image(facts.spec),
        _uwsgi_command(facts, workload) if is_api else workload.command,
        mounts=[*_mounts(facts, carried), *_tls_mounts(facts)],
        environment={**_environment(facts), **workload.environment},
        environment_secret=carried.environment.key.name,
        port=facts.service.port if is_api else 0,
        probes=_probes(facts, workload) if is_api else {},
        resources=pods.resources(workload.resources, settings, spec),
        pre_stop_sleep=sleep if is_api else 0,
    )
    return pods.template(
        [container],
        labels=facts.labels(workload.component),
        annotations={names.SECRET_DIGEST: carried.secret_digest},
        settings={
            **pods.placement(spec, settings),
            "terminationGracePeriodSeconds": spec.termination_grace_period_seconds or 30,
        },
    )


def job_template(facts: Facts, task: Task) -> Object:
    """The pod of a one-time command."""
    spec = facts.service.base(facts.spec)
    carried = configuration.carried(facts)
    container = Container(
        f"{facts.service.name}-{task.name}",
        facts.service.image(facts.spec),
        task.command,
        mounts=_mounts(facts, carried),
        environment=_environment(facts),
        secret_environment=task.secret_environment,
        environment_secret=carried.environment.key.name,
        resources=JOB_RESOURCES,
    )
    return pods.template(
        [container],
        labels=facts.labels(task.name),
        annotations={},
        settings=pods.placement(spec),
    )


def _uwsgi_command(facts: Facts, workload: Workload) -> tuple[str, ...]:
    return (
        f"{names.VENV}/bin/uwsgi",
        "--ini",
        f"{facts.service.config_dir}/uwsgi-{workload.component}.ini",
    )


def _environment(facts: Facts) -> dict[str, str]:
    config_dir = facts.service.config_dir
    return {
        f"OS_{facts.service.name.upper()}_CONFIG_DIR": config_dir,
        "PATH": f"{names.VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": pods.SCRATCH[1],
    }


def _mounts(facts: Facts, carried: configuration.Carried) -> list[Mount]:
    found = [Mount("config", facts.service.config_dir, config_map=carried.config_map.key.name)]
    auth = getattr(facts.spec, "keystone", None)
    if auth is not None and auth.ca_secret_ref is not None:
        folder = oslo.CA_FILE.rpartition("/")[0]
        found.append(Mount("ca", folder, secret=auth.ca_secret_ref.name))
    return [*found, *facts.service.mounts(facts)]


def _tls_mounts(facts: Facts) -> list[Mount]:
    tls = facts.service.base(facts.spec).tls
    if tls is None or not tls.enabled:
        return []
    given = tls.secret_ref.name if tls.secret_ref else ""
    secret = given or names.certificate_secret(facts.key.name)
    return [Mount("tls", uwsgi.TLS_DIR, secret=secret)]


def _probes(facts: Facts, workload: Workload) -> dict[str, Any]:
    scheme = uwsgi.scheme(facts).upper()
    get = {"path": workload.health, "port": facts.service.port, "scheme": scheme}
    return {
        "startupProbe": {
            "httpGet": get,
            "periodSeconds": 1,
            "failureThreshold": 120,
            "timeoutSeconds": 5,
        },
        "readinessProbe": {"httpGet": get, "periodSeconds": 5, "timeoutSeconds": 5},
        "livenessProbe": {
            "tcpSocket": {"port": facts.service.port},
            "periodSeconds": 10,
            "failureThreshold": 6,
            "timeoutSeconds": 5,
        },
    }
