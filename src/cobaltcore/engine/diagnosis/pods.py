"""Pods: scheduling, images, programs that end, probes that fail. Pure."""

import re
from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import (
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
)
from cobaltcore.engine import podfailures
from cobaltcore.engine.diagnosis import commands
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named
from cobaltcore.engine.podfailures import Failure
from cobaltcore.runtime.meta import Key, Object

CRASHES = ("CrashLoopBackOff", "Error", "OOMKilled", "RunContainerError")
"""Reasons of a program that ended, as opposed to one that could not be started."""
DNS = Key("kube-system", "kube-dns")
UNRESOLVED = re.compile(
    r"name or service not known|name resolution|no such host|could not resolve|"
    r"does not resolve|unknown mysql server host|nodename nor servname",
    re.IGNORECASE,
)


def inspect(facts: Facts, pod: Named) -> Inspection | None:
    found = facts.get(pod.kind, pod.key)
    if found is None:
        return Inspection(Cause(pod, "NotFound", f"{pod} does not exist"))
    status = found.get("status") or {}
    if status.get("phase") == "Succeeded" or podfailures.is_ready(found):
        return None
    cause = _cause(facts, pod, found)
    mounted = list(_secrets(found))
    absent = [each for each in mounted if facts.get(SECRET, each.key) is None]
    needed = [*mounted, *program_failed(cause.message)]
    return Inspection(cause, [*_below(found), *absent], needed)


def program_failed(message: str) -> Iterator[Named]:
    """What a program misses, by its output: DNS."""
    if UNRESOLVED.search(message):
        yield Named(SERVICE, DNS)


def _cause(facts: Facts, pod: Named, found: Object) -> Cause:
    status = found.get("status") or {}
    if status.get("reason") == "Evicted":
        return Cause(pod, "Evicted", f"{pod} was evicted: {status.get('message')}")
    for failure in podfailures.failures(found):
        return _failure(pod, failure)
    for container in _containers(found):
        ended = (container.get("state") or {}).get("terminated")
        if ended and ended.get("exitCode"):
            lines = (ended.get("message") or "").strip().splitlines()
            text = lines[-1] if lines else f"exit code {ended['exitCode']}"
            failure = Failure(container["name"], ended.get("reason") or "Error", text)
            return _failure(pod, failure)
    mount = facts.warning(pod, "FailedMount", "FailedAttachVolume")
    if mount:
        return Cause(pod, "FailedMount", f"{pod}: {mount}", commands.describe(pod))
    return _unready(facts, pod, found)


def _failure(pod: Named, failure: Failure) -> Cause:
    if not failure.container:
        text = f"{pod} is not scheduled: {failure.message}"
        return Cause(pod, failure.reason, text, commands.describe(pod))
    text = f"container {failure.container!r} of {pod}: {failure.reason}: {failure.message}"
    crashed = failure.reason in CRASHES
    restarted = failure.reason == "CrashLoopBackOff"
    command = (
        commands.logs(pod, failure.container, previous=restarted)
        if crashed
        else commands.describe(pod)
    )
    return Cause(pod, failure.reason, text.rstrip(": "), command, is_symptom=crashed)


def _unready(facts: Facts, pod: Named, found: Object) -> Cause:
    """It runs, and its probe fails or has not succeeded yet."""
    for container in _containers(found):
        if not container.get("ready"):
            name = container["name"]
            probe = facts.warning(pod, "Unhealthy")
            text = f"container {name!r} of {pod} runs and is not ready"
            text = f"{text}: {probe}" if probe else text
            return Cause(pod, "Unhealthy", text, commands.logs(pod, name), is_symptom=True)
    text = f"{pod} is starting"
    return Cause(pod, "ContainersNotReady", text, commands.describe(pod), is_symptom=True)


def _below(found: Object) -> Iterator[Named]:
    namespace, spec = found["metadata"]["namespace"], found.get("spec") or {}
    if spec.get("nodeName"):
        yield Named(NODE, Key("", spec["nodeName"]))
    for volume in spec.get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim and not spec.get("nodeName"):
            yield Named(PERSISTENT_VOLUME_CLAIM, Key(namespace, claim))


def _secrets(found: Object) -> Iterator[Named]:
    for volume in found["spec"].get("volumes") or ():
        secret = volume.get("secret") or {}
        if secret.get("secretName") and not secret.get("optional"):
            yield Named(SECRET, Key(found["metadata"]["namespace"], secret["secretName"]))


def _containers(found: Object) -> Iterator[Object]:
    status = found.get("status") or {}
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()
