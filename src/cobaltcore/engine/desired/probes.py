"""Probes of containers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cobaltcore.runtime.meta import Object


@dataclass(frozen=True, slots=True)
class Exec:
    """Succeeds if the command exits with 0."""

    command: Sequence[str]

    def body(self) -> Object:
        return {"exec": {"command": list(self.command)}}


@dataclass(frozen=True, slots=True)
class HttpGet:
    """Succeeds on a status below 400."""

    path: str
    port: int
    scheme: str = ""

    def body(self) -> Object:
        found: Object = {"path": self.path, "port": self.port}
        if self.scheme:
            found["scheme"] = self.scheme
        return {"httpGet": found}


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """Succeeds if the port, by number or name, accepts a connection."""

    port: int | str

    def body(self) -> Object:
        return {"tcpSocket": {"port": self.port}}


@dataclass(frozen=True, slots=True)
class Probe:
    """A check and its timing; None is the default of Kubernetes."""

    check: Exec | HttpGet | TcpSocket
    period_seconds: int | None = None
    timeout_seconds: int | None = None
    failure_threshold: int | None = None

    def body(self) -> Object:
        timing = {
            "periodSeconds": self.period_seconds,
            "timeoutSeconds": self.timeout_seconds,
            "failureThreshold": self.failure_threshold,
        }
        return {**self.check.body(), **{k: v for k, v in timing.items() if v is not None}}


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of one container."""

    startup: Probe | None = None
    readiness: Probe | None = None
    liveness: Probe | None = None

    def body(self) -> Object:
        named = {
            "startupProbe": self.startup,
            "readinessProbe": self.readiness,
            "livenessProbe": self.liveness,
        }
        return {name: probe.body() for name, probe in named.items() if probe is not None}


def by_command(
    *command: str,
    startup_seconds: int = 120,
    interval_seconds: int = 1,
    liveness: Probe | None = None,
) -> Probes:
    """Startup and readiness by one command: often while the program starts, seldom later.

    The kubelet detects without a probe that a program has ended, and each probe costs a process.
    """
    check = Probe(Exec(command), timeout_seconds=10)
    attempts = startup_seconds // interval_seconds
    return Probes(
        startup=replace(check, period_seconds=interval_seconds, failure_threshold=attempts),
        readiness=replace(check, period_seconds=30, failure_threshold=3),
        liveness=liveness,
    )
