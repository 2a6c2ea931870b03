"""Pods of a service: what all of them mount and how they are probed. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from cobaltcore.api.blocks import SecretKeyRef
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.api.pods import Resources
from cobaltcore.engine import access, configuration, oslo, uwsgi
from cobaltcore.engine.configuration import RenderedConfig
from cobaltcore.engine.definition import AnyScope, NodeAgent, Task, Workload
from cobaltcore.engine.desired import containers, names, placement, probes
from cobaltcore.engine.desired.containers import (
    Container,
    PodField,
    Port,
    SecurityContext,
)
from cobaltcore.engine.desired.placement import LabelRequirement, Placement
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import HttpGet, Probe, Probes, TcpSocket
from cobaltcore.engine.desired.volumes import Secret, Volume

JOB_RESOURCES = Resources(requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "1Gi"})
URGENT_RESOURCES = Resources(requests={"cpu": "500m", "memory": "128Mi"}, limits={"memory": "1Gi"})
"""Of the first Jobs of Keystone: all other services wait for it, so it comes before their Jobs."""
HELPER_RESOURCES = Resources(requests={"cpu": "10m", "memory": "32Mi"}, limits={"memory": "256Mi"})
"""Of init containers and sidecars."""


def pod(scope: AnyScope, workload: Workload) -> Pod:
    """A pod of a workload."""
    spec = scope.spec
    config = configuration.rendered(scope, workload.config)
    agent = workload.agent or NodeAgent()
    sidecars = [_helper(scope, workload, config, task) for task in agent.sidecars]
    return Pod(
        containers=[_main(scope, workload, config), *sidecars],
        init_containers=[_helper(scope, workload, config, task) for task in agent.init_containers],
        labels=scope.labels(workload.component),
        annotations={names.SECRET_DIGEST: config.secret_digest},
        placement=_placement(scope, workload),
        pull_secrets=spec.image_pull_secrets,
        host_network=workload.agent is not None,
        host_pid=agent.host_pid,
        grace_period_seconds=spec.termination_grace_period_seconds or 30,
    )


def job_pod(scope: AnyScope, task: Task) -> Pod:
    """The pod of a one-time command."""
    if task.before_keystone:
        config = configuration.for_migration(scope)
    else:
        config = configuration.rendered(scope)
    if task.offline:
        volumes = [config.public(scope.service)]
    elif task.before_keystone:
        volumes = [*config.volumes(scope.service), *_backend_authorities(scope)]
    else:
        volumes = _volumes(scope, config)
    own = {each.name for each in task.volumes}
    volumes = [*(each for each in volumes if each.name not in own), *task.volumes]
    container = Container(
        f"{scope.service.name}-{task.name}",
        scope.image,
        task.command,
        volumes=volumes,
        environment=_environment(scope),
        resources=_job_resources(scope),
    )
    return Pod(
        containers=[container],
        labels=scope.labels(task.name),
        placement=placement.of(scope.spec),
        pull_secrets=scope.spec.image_pull_secrets,
    )


def _main(scope: AnyScope, workload: Workload, config: RenderedConfig) -> Container:
    spec = scope.spec
    port = uwsgi.port(scope, workload)
    sleep = 5 if spec.pre_stop_sleep_seconds is None else spec.pre_stop_sleep_seconds
    return Container(
        f"{scope.service.name}-{workload.component}",
        scope.image,
        uwsgi.command(scope, workload) if workload.module else workload.command,
        volumes=_workload_volumes(scope, workload, config),
        environment=_workload_environment(scope, workload),
        ports=[Port("api", port)] if port else (),
        probes=_probes(scope, workload, port) if port else _exec_probes(workload.readiness),
        resources=containers.resources(workload.resources, workload.settings, spec),
        security=_security(workload),
        pre_stop_sleep_seconds=sleep if port else 0,
    )


def _job_resources(scope: AnyScope) -> Resources:
    """What runs already leaves less room for a Job than there was at first."""
    runs = scope.observed.get(DEPLOYMENT, scope.named("api")) is not None
    return JOB_RESOURCES if runs or scope.spec.keystone is not None else URGENT_RESOURCES


def _helper(scope: AnyScope, workload: Workload, config: RenderedConfig, task: Task) -> Container:
    """An init container or sidecar: it sees what the main container sees."""
    return Container(
        f"{scope.service.name}-{task.name}",
        scope.image,
        task.command,
        volumes=_workload_volumes(scope, workload, config),
        environment=_workload_environment(scope, workload),
        probes=_exec_probes(task.readiness),
        resources=HELPER_RESOURCES,
        security=_security(workload),
    )


def _security(workload: Workload) -> SecurityContext:
    if workload.agent is not None:
        return SecurityContext("privileged")
    return SecurityContext("escalating" if workload.escalates else "unprivileged")


def _placement(scope: AnyScope, workload: Workload) -> Placement:
    agent = workload.agent
    if agent is None:
        return placement.of(workload.settings, scope.spec)
    found = placement.on_hypervisors(workload.settings)
    return replace(
        found,
        node_selector={**(found.node_selector or {}), **agent.labels},
        either=[
            each
            for key, value in sorted(agent.labels_if_any.items())
            for each in (
                LabelRequirement(key, "DoesNotExist"),
                LabelRequirement(key, "In", (value,)),
            )
        ],
    )


def _workload_environment(scope: AnyScope, workload: Workload) -> dict[str, str | PodField]:
    fields = workload.agent.node_environment if workload.agent else {}
    return {
        **_environment(scope),
        **workload.environment,
        **{name: PodField(path) for name, path in fields.items()},
    }


def _environment(scope: AnyScope) -> dict[str, str]:
    config_dir = scope.service.config_dir
    found = {
        f"OS_{scope.service.name.upper()}_CONFIG_DIR": config_dir,
        "PATH": f"{names.VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": containers.STATE_DIR,
    }
    if access.has_ca(scope):
        # Not every client of every service has an option for it.
        found["REQUESTS_CA_BUNDLE"] = oslo.CA_FILE
    return found


def _volumes(scope: AnyScope, config: RenderedConfig) -> list[Volume]:
    found = [*config.volumes(scope.service), *_backend_authorities(scope)]
    keystone = scope.spec.keystone
    if keystone is not None and keystone.ca_secret_ref is not None:
        found.append(_authority("ca", oslo.CA_FILE, keystone.ca_secret_ref))
    return [*found, *scope.service.volumes(scope)]


def _backend_authorities(scope: AnyScope) -> Iterator[Volume]:
    """Who signs the certificates of database and broker; a renewed one reaches running pods."""
    database, messaging = scope.spec.database, scope.spec.messaging
    if database is not None and database.tls is not None:
        yield _authority("database-ca", access.DATABASE_CA, database.tls.ca_secret_ref)
    if messaging is not None and messaging.tls is not None:
        yield _authority("messaging-ca", access.MESSAGING_CA, messaging.tls.ca_secret_ref)


def _authority(name: str, path: str, bundle: SecretKeyRef) -> Volume:
    """A CA bundle, and nothing else of its Secret."""
    directory, _, file = path.rpartition("/")
    return Volume(name, directory, Secret(bundle.name, {bundle.key or access.CA_KEY: file}))


def _workload_volumes(scope: AnyScope, workload: Workload, config: RenderedConfig) -> list[Volume]:
    tls = _tls_volumes(scope) if uwsgi.port(scope, workload) else []
    return [*_volumes(scope, config), *tls, *workload.volumes]


def _tls_volumes(scope: AnyScope) -> list[Volume]:
    tls = scope.spec.tls
    if tls is None or not tls.enabled:
        return []
    external = tls.secret_ref.name if tls.secret_ref else ""
    secret = external or names.certificate_secret(scope.name)
    return [Volume("tls", uwsgi.TLS_DIR, Secret(secret))]


def _probes(scope: AnyScope, workload: Workload, port: int) -> Probes:
    get = HttpGet(workload.health, port, uwsgi.scheme(scope).upper())
    answers = Probe(get, timeout_seconds=5)
    return Probes(
        startup=replace(answers, period_seconds=1, failure_threshold=120),
        readiness=replace(answers, period_seconds=5),
        liveness=Probe(TcpSocket(port), period_seconds=10, timeout_seconds=5, failure_threshold=6),
    )


def _exec_probes(command: tuple[str, ...]) -> Probes:
    """A program may wait long for what it needs, or one backend of many: no restart helps.

    Each probe starts a Python; several programs start at once, on nodes that are busy then.
    """
    if not command:
        return Probes()
    return probes.by_command(*command, startup_seconds=24 * 3600, interval_seconds=3)
