"""Legal edits of the ControlPlane of a lab, drawn at random: the same for the same seed."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from tests.support.predictions import merged

Spec = dict[str, Any]
Draw = Callable[[Random], Spec]

SERVICES = ("keystone", "glance", "placement", "nova", "neutron", "cinder")
WORKLOADS = {
    "nova": ("api", "scheduler", "conductor", "metadata"),
    "neutron": ("api",),
    "cinder": ("api", "scheduler"),
}
OPTIONS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "keystone": (("token", "expiration", ("3600", "7200", "10800")),),
    "glance": (("DEFAULT", "limit_param_default", ("25", "50", "100")),),
    "placement": (("placement", "randomize_allocation_candidates", ("true", "false")),),
    "nova": (
        ("api", "max_limit", ("500", "1000")),
        ("filter_scheduler", "ram_weight_multiplier", ("0.5", "1.0", "2.0")),
        ("DEFAULT", "reserved_host_memory_mb", ("256", "512")),
    ),
    "neutron": (("quotas", "quota_network", ("50", "100", "200")),),
    "cinder": (("DEFAULT", "quota_volumes", ("10", "20", "40")),),
}
RULES = {
    "keystone": ("identity:list_services", ("role:reader", "role:admin")),
    "glance": ("get_metadef_namespaces", ("role:reader", "rule:admin_required or role:reader")),
    "placement": ("placement:usages", ("role:reader", "role:admin")),
    "nova": ("os_compute_api:os-hypervisors:list", ("role:admin", "role:reader")),
    "neutron": ("get_availability_zone", ("role:reader", "role:admin")),
    "cinder": ("volume_extension:services:index", ("role:admin", "role:reader")),
}


def _replicas(draw: Random) -> Spec:
    service = draw.choice(SERVICES)
    number = {"replicas": draw.choice((1, 2))}
    if service in WORKLOADS:
        return _of(service, **{draw.choice(WORKLOADS[service]): number})
    return _of(service, **number)


def _option(draw: Random) -> Spec:
    service = draw.choice(SERVICES)
    section, option, values = draw.choice(OPTIONS[service])
    return _of(service, extraConfig={section: {option: draw.choice(values)}})


def _rule(draw: Random) -> Spec:
    service = draw.choice(SERVICES)
    name, checks = RULES[service]
    return _of(service, policyOverrides={"rules": {name: draw.choice(checks)}})


def _resources(draw: Random) -> Spec:
    service = draw.choice(SERVICES)
    requests = {"cpu": draw.choice(("20m", "30m", "40m"))}
    resources = {"requests": requests, "limits": {"memory": draw.choice(("1Gi", "2Gi"))}}
    if service in WORKLOADS:
        return _of(service, **{draw.choice(WORKLOADS[service]): {"resources": resources}})
    return _of(service, resources=resources)


def _toleration(draw: Random) -> Spec:
    listed = [{"key": draw.choice(("a", "b")), "operator": "Exists"}]
    return _of(draw.choice(SERVICES), tolerations=listed)


def _option_of_all(draw: Random) -> Spec:
    return {"global": {"extraConfig": {"DEFAULT": {"debug": draw.choice(("true", "false"))}}}}


def _cells(draw: Random) -> Spec:
    further = draw.choice(([], [{"name": "cell2"}]))
    return _of("nova", cells=[{"name": "cell1"}, *further])


def _console(draw: Random) -> Spec:
    return _of("nova", console={"enabled": draw.choice((True, False))})


def _cinder(draw: Random) -> Spec:
    return _of("cinder", enabled=draw.choice((True, False)))


def _memcached(draw: Random) -> Spec:
    return {"infrastructure": {"memcached": {"memory": draw.choice(("96Mi", "128Mi"))}}}


def _rotation(draw: Random) -> Spec:
    return _of("keystone", fernet={"maxActiveKeys": draw.choice((3, 4, 5))})


EDITS: Mapping[str, Draw] = {
    "replicas": _replicas,
    "an option": _option,
    "a rule": _rule,
    "resources": _resources,
    "a toleration": _toleration,
    "an option of all services": _option_of_all,
    "cells": _cells,
    "the console": _console,
    "block storage on or off": _cinder,
    "memory of memcached": _memcached,
    "rotation of keys": _rotation,
}


def sequence(seed: int, count: int, spec: Spec) -> Iterator[tuple[str, Spec]]:
    """Edits one after the other: what each is about, and the whole spec after it."""
    draw = Random(seed)
    for _ in range(count):
        name, spec = drawn(draw, spec)
        yield name, spec


def drawn(draw: Random, spec: Spec) -> tuple[str, Spec]:
    """An edit that changes something; while block storage is off, it turns it on again."""
    name, after, names = "", spec, list(EDITS)
    while after == spec:
        is_off = spec["services"]["cinder"].get("enabled") is False
        name = "block storage on or off" if is_off else draw.choice(names)
        after = merged(spec, EDITS[name](draw))
    return name, after


def _of(service: str, **settings: Any) -> Spec:
    return {"services": {service: settings}}
