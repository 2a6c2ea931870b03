"""Records the status of a ControlPlane during its deployment."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.lab import Lab

PAUSE_SECONDS = 0.5
STATUS = 'jsonpath={.status}{"\\n"}'


@contextmanager
def sampling(lab: Lab, namespace: str, name: str) -> Iterator[list[dict[str, Any]]]:
    """Record every status from before the start of the API server until the end of the block."""
    found: list[dict[str, Any]] = []
    stopped = threading.Event()
    running: list[subprocess.Popen[str]] = []

    def follow() -> None:
        while not stopped.is_set():
            if lab.state_dir.kubeconfig.exists():
                with _watch(lab, namespace, name) as process:
                    running.append(process)
                    assert process.stdout is not None
                    found.extend(json.loads(line) for line in process.stdout if line.strip())
            stopped.wait(PAUSE_SECONDS)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield found
    finally:
        stopped.set()
        while thread.is_alive():
            # A watch may have started after the last iteration.
            for process in running:
                process.terminate()
            thread.join(PAUSE_SECONDS)


def _watch(lab: Lab, namespace: str, name: str) -> subprocess.Popen[str]:
    kubectl = [
        str(lab.state_dir.programs / "kubectl"),
        "--kubeconfig",
        str(lab.state_dir.kubeconfig),
    ]
    return subprocess.Popen(
        [*kubectl, "get", "controlplane", name, "-n", namespace, "--watch", "-o", STATUS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
