"""ovn-northd: translates from the northbound to the southbound database. Pure.

All of them connect, one holds the lock in the southbound database and works.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.engine.desired import pods, workload
from cobaltcore.engine.desired.pods import Container
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.ovn import databases
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired

COMPONENT = "northd"
CONTROL = "/tmp/northd.ctl"  # noqa: S108 an empty volume of the pod
TESTED_SIZE: Mapping[str, Any] = {
    "requests": {"cpu": "20m", "memory": "32Mi"},
    "limits": {"memory": "1Gi"},
}


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
        mounts=databases.tls_mounts(view),
        probes=_probes(),
        resources=pods.resources(TESTED_SIZE, settings),
    )
    template = pods.template(
        [container],
        labels=view.labels(COMPONENT),
        annotations={},
        settings={
            **databases.placement(view, settings),
            "shareProcessNamespace": True,
            "terminationGracePeriodSeconds": 10,
        },
    )
    yield from workload.deployment(
        view.named(COMPONENT),
        replicas=settings.replicas,
        selector=view.selector(COMPONENT),
        labels=view.labels(COMPONENT),
        template=template,
    )


def ready(view: View) -> Verdict:
    """Whether all of them are connected to both databases."""
    key = view.named(COMPONENT)
    number, wanted, settled = workload.progress(view.get(DEPLOYMENT, key))
    if settled:
        return Ready("Translating", f"{number}/{wanted} pods")
    wanted = wanted or view.spec.northd.replicas
    return Waiting(
        "NorthdStarting", f"{number}/{wanted} pods of {key.name!r} ready{view.trouble(COMPONENT)}"
    )


def _probes() -> dict[str, Any]:
    asks = f"ovn-appctl --timeout=5 -t {CONTROL}"
    check = " && ".join(
        f'[ "$({asks} {side}-connection-status)" = connected ]' for side in ("nb", "sb")
    )
    connected = {"exec": {"command": ["sh", "-c", check]}, "timeoutSeconds": 10}
    alive = ["ovn-appctl", "--timeout=5", "-t", CONTROL, "version"]
    return {
        "startupProbe": {**connected, "periodSeconds": 1, "failureThreshold": 300},
        "readinessProbe": {**connected, "periodSeconds": 30, "failureThreshold": 3},
        "livenessProbe": {
            "exec": {"command": alive},
            "timeoutSeconds": 10,
            "periodSeconds": 30,
            "failureThreshold": 4,
        },
    }
