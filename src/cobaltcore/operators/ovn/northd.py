"""ovn-northd: translates from the northbound to the southbound database. Pure.

All of them connect, one holds the lock in the southbound database and works.
"""

from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.api.pods import Resources
from cobaltcore.engine.desired import containers, placement, probes, workload
from cobaltcore.engine.desired.containers import Container
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Probes
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.ovn import databases
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired

COMPONENT = "northd"
CONTROL = "/tmp/northd.ctl"  # noqa: S108 an empty volume of the pod
TESTED_SIZE = Resources(requests={"cpu": "20m", "memory": "32Mi"}, limits={"memory": "1Gi"})


def objects(view: View) -> Iterator[Desired]:
    """Equal pods, of which one is active."""
    settings = view.spec.northd
    container = Container(
        COMPONENT,
        view.spec.ovn_image,
        (
            "ovn-northd",
            f"--unixctl={CONTROL}",
            f"--ovnnb-db={databases.NORTHBOUND.servers(view)}",
            f"--ovnsb-db={databases.SOUTHBOUND.servers(view)}",
            *databases.tls_options(view),
            "-vconsole:info",
            "-vsyslog:off",
            "-vfile:off",
        ),
        volumes=databases.tls_volumes(view),
        probes=_probes(),
        resources=containers.resources(TESTED_SIZE, settings),
    )
    pod = Pod(
        containers=[container],
        labels=view.labels(COMPONENT),
        placement=placement.of(settings),
        pull_secrets=view.spec.image_pull_secrets,
        share_process_namespace=True,
        grace_period_seconds=10,
    )
    yield from workload.deployment(
        view.named(COMPONENT),
        replicas=settings.replicas,
        selector=view.selector(COMPONENT),
        pod=pod,
    )


def ready(view: View) -> Verdict:
    """Whether all of them are connected to both databases."""
    key = view.named(COMPONENT)
    found = workload.progress(view.get(DEPLOYMENT, key))
    if found.settled:
        return Ready("Available", f"{found.ready}/{found.wanted} pods")
    text = found.describe(key.name, wanted=view.spec.northd.replicas)
    return Waiting("NorthdStarting", f"{text}{view.pod_failure(COMPONENT)}")


def _probes() -> Probes:
    appctl = f"ovn-appctl --timeout=5 -t {CONTROL}"
    is_connected = " && ".join(
        f'[ "$({appctl} {side}-connection-status)" = connected ]' for side in ("nb", "sb")
    )
    return probes.by_command(
        "sh",
        "-c",
        is_connected,
        startup_seconds=300,
        liveness=databases.responds(CONTROL, program="ovn-appctl"),
    )
