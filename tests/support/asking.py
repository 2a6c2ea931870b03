"""Ask `cobalt` about a test's API server as a user would, and break things in it as the world would."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tests.support.control_plane import ControlPlaneHarness

WAIT_SECONDS = 180
T = TypeVar("T")


def cobalt(plane: ControlPlaneHarness, *arguments: str) -> tuple[int, str]:
    """Run a command against the API server; its exit code and what it printed.

    In a process of its own: operators in threads of the test print their logs.
    """
    command = [sys.executable, "-m", "cobaltcore.cli.main", *arguments]
    command += ["--kubeconfig", str(plane.kubeconfig())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


async def in_thread(ask: Callable[..., T], *arguments: Any) -> T:
    """Ask from a test that runs operators in its own loop."""
    return await asyncio.to_thread(ask, *arguments)


def why(plane: ControlPlaneHarness, subject: str, namespace: str = "") -> dict[str, Any]:
    """What `cobalt why` finds."""
    options = ["-n", namespace] if namespace else []
    code, text = cobalt(plane, "why", subject, "-o", "json", *options)
    assert code == 0, text
    found: dict[str, Any] = json.loads(text)
    return found


def cause(plane: ControlPlaneHarness, subject: str, namespace: str = "") -> tuple[str, str, str]:
    """Object, reason and message of the cause; empty while the subject is ready."""
    found = why(plane, subject, namespace)
    if found["ready"]:
        return "", "", ""
    named = found["cause"]
    return f"{named['kind']}/{named['name']}", named["reason"], named["message"]


def named(
    plane: ControlPlaneHarness, subject: str, namespace: str, *words: str
) -> tuple[str, str, str]:
    """The cause, as soon as it has all those words in it."""
    seen: list[tuple[str, str, str]] = [("", "", "")]

    def is_named() -> bool:
        seen[0] = cause(plane, subject, namespace)
        return all(word in " ".join(seen[0]) for word in words)

    wait(is_named, lambda: f"{subject}: {words} not in {seen[0]}", seconds=60)
    return seen[0]


def wait(
    check: Callable[[], bool],
    what: Callable[[], str],
    *,
    seconds: float = WAIT_SECONDS,
    pause: float = 0.2,
) -> None:
    """Wait for a condition."""
    end, moment = time.monotonic() + seconds, threading.Event()
    while not check():
        if time.monotonic() > end:
            raise AssertionError(what())
        moment.wait(pause)


def get(plane: ControlPlaneHarness, namespace: str, *words: str) -> dict[str, Any]:
    """An object, or a list of them, as kubectl gets it."""
    text = plane.kubectl("get", "-n", namespace, *words, "-o", "json")
    found: dict[str, Any] = json.loads(text)
    return found


def create(plane: ControlPlaneHarness, *manifests: dict[str, Any]) -> None:
    for each in manifests:
        plane.kubectl("create", "-f", "-", input=json.dumps(each))


def patch_status(
    plane: ControlPlaneHarness, namespace: str, what: str, status: dict[str, Any]
) -> None:
    """Report a status in the name of its usual writer."""
    patch = json.dumps({"status": status})
    words = ("patch", "-n", namespace, what, "--subresource=status", "--type=merge", "-p", patch)
    plane.kubectl(*words)


def pods(plane: ControlPlaneHarness, namespace: str, component: str) -> list[str]:
    """Names of pods of a component."""
    selector = f"app.kubernetes.io/component={component}"
    found = get(plane, namespace, "pods", "-l", selector)["items"]
    return [each["metadata"]["name"] for each in found]


def container_waits(name: str, why: str, text: str = "", **last: Any) -> dict[str, Any]:
    """The status of a pod whose container does not run."""
    waiting = {"reason": why, "message": text}
    container = {
        "name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 3,
        "state": {"waiting": waiting},
        **({"lastState": {"terminated": last}} if last else {}),
    }  # fmt: skip
    return {"conditions": not_ready(), "containerStatuses": [container]}


def not_ready() -> list[dict[str, Any]]:
    """Conditions of a pod that runs and is not ready."""
    moment = "2026-01-01T00:00:00Z"
    states = {"Ready": "False", "ContainersReady": "False", "PodScheduled": "True"}
    return [{"type": t, "status": s, "lastTransitionTime": moment} for t, s in states.items()]


def is_ready(plane: ControlPlaneHarness, namespace: str, what: str) -> bool:
    """Whether an object of ours reports Ready for its newest generation."""
    found = get(plane, namespace, what)
    listed = (found.get("status") or {}).get("conditions") or []
    generation = found["metadata"]["generation"]
    return any(
        (each["type"], each["status"], each.get("observedGeneration"))
        == ("Ready", "True", generation)
        for each in listed
    )
