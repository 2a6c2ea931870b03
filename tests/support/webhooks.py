"""`cobalt run` of one operator with its webhooks, next to the API server of a test."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cobaltcore.runtime import certificates
from cobaltcore.runtime.webhook_objects import Target
from tests.support.control_plane import ControlPlaneHarness


@contextmanager
def served(plane: ControlPlaneHarness, operator: str, directory: Path) -> Iterator[Target]:
    """Run an operator; yields where its webhooks are."""
    authority = certificates.authority("test", now=datetime.now(UTC))
    pair = certificates.serving(authority, ["127.0.0.1"], now=datetime.now(UTC))
    certificates.write(pair, certificate=directory / "tls.crt", key=directory / "tls.key")
    port = _free_port()
    command = ["run", operator, "--kubeconfig", str(plane.kubeconfig())]
    command += ["--webhook-certificates", str(directory), "--webhook-port", str(port)]
    log = directory / "log"
    with log.open("w") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "cobaltcore.cli.main", *command, "--health-port", "0"],
            stderr=sink,
        )
    try:
        plane.wait_until(
            lambda: "caches synced" in log.read_text(), what="filling the operator's caches"
        )
        yield Target(f"https://127.0.0.1:{port}", authority.certificate)
    finally:
        process.terminate()
        process.wait(timeout=60)
    assert process.returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
