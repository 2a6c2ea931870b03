"""Every exception of a reconcile ends as a condition and an event; its type decides the retry."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from cobaltcore.runtime import errors, offline
from cobaltcore.runtime.controller import Source, itself
from cobaltcore.runtime.meta import Key, Kind, Object, Struct
from cobaltlab.providers.failures import Blocked, ReconcileError, Waiting
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler

KIND = Kind("example.org", "v1", "Thing", "things")
KEY = Key("default", "one")
UNAVAILABLE = errors.ServerError(503, "ServiceUnavailable", "try again")


class Recorder:
    """Collects warnings instead of writing events."""

    def __init__(self) -> None:
        self.warnings: list[tuple[str, str]] = []

    async def warning(self, obj: Object, reason: str, note: str) -> None:
        self.warnings.append((reason, note))


class FailingReconciler(Reconciler):
    """Raises `error`; keeps the status instead of writing it."""

    failed_reason = "Failed"
    blocking = (errors.Invalid,)

    def __init__(self, error: Exception | None, *, writable: bool = True) -> None:
        super().__init__(
            Context(offline.cluster(), "test"), KIND, [Source(KIND, itself)], name="failing"
        )
        self.error = error
        self.writable = writable
        self.written: dict[str, Any] = {}
        self.recorder = self._events = Recorder()  # type: ignore[assignment]
        metadata = {"name": "one", "namespace": "default", "uid": "1", "generation": 3}
        live = {"metadata": {**metadata, "resourceVersion": "7"}, "status": {"replicas": 1}}
        self._cluster.observe(KIND, live)

    async def apply(self, live: Object) -> None:
        if self.error is not None:
            raise self.error

    async def write_status(self, live: Object, after: Struct | Mapping[str, Any]) -> bool:
        if not self.writable:
            raise UNAVAILABLE
        before, self.written = self.written, msgspec.to_builtins(after)
        return before != self.written

    @property
    def condition(self) -> dict[str, Any]:
        (found,) = self.written["conditions"]
        return {name: found[name] for name in ("type", "status", "reason", "message")}


def ready_false(reason: str, message: str) -> dict[str, str]:
    return {"type": "Ready", "status": "False", "reason": reason, "message": message}


async def test_a_dependency_is_waited_for_without_an_event() -> None:
    failing = FailingReconciler(Waiting("MariaDB 'db' is not ready", after=timedelta(seconds=5)))
    assert await failing.reconcile(KEY) == timedelta(seconds=5)
    assert failing.condition == ready_false("Failed", "MariaDB 'db' is not ready")
    assert failing.recorder.warnings == []


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (Blocked("no image", "set spec.image"), "Failed", "no image: set spec.image"),
        (Blocked("wrong", reason="InvalidRequest"), "InvalidRequest", "wrong"),
        (msgspec.ValidationError("Expected `int`"), "Failed", "spec is invalid: Expected `int`"),
        (errors.Invalid(422, "Invalid", "too long"), "Failed", "too long"),
    ],
)
async def test_errors_of_the_user_are_not_retried(
    error: Exception, reason: str, message: str
) -> None:
    failing = FailingReconciler(error)
    assert await failing.reconcile(KEY) is None
    assert failing.condition == ready_false(reason, message)
    assert failing.recorder.warnings == [("ReconcileFailed", message)]


@pytest.mark.parametrize("error", [ReconcileError("no answer"), UNAVAILABLE])
async def test_other_errors_are_reported_and_retried_with_back_off(
    error: errors.RuntimeFault,
) -> None:
    failing = FailingReconciler(error)
    with pytest.raises(type(error)):
        await failing.reconcile(KEY)
    assert failing.condition == ready_false("Failed", error.message)
    assert failing.recorder.warnings == [("ReconcileFailed", error.message)]


async def test_an_unexpected_exception_is_reconcile_failed() -> None:
    failing = FailingReconciler(KeyError("spec"))
    with pytest.raises(KeyError):
        await failing.reconcile(KEY)
    assert failing.condition["reason"] == "ReconcileFailed"
    assert failing.condition["message"].startswith("unexpected KeyError: 'spec': retried")


async def test_a_failure_keeps_the_status_and_is_an_event_once() -> None:
    failing = FailingReconciler(Blocked("wrong"))
    await failing.reconcile(KEY)
    await failing.reconcile(KEY)
    assert failing.written["replicas"] == 1
    assert failing.written["conditions"][0]["observedGeneration"] == 3
    assert len(failing.recorder.warnings) == 1


async def test_a_conflict_is_no_failure() -> None:
    failing = FailingReconciler(errors.Conflict(409, "Conflict", "modified"))
    with pytest.raises(errors.Conflict):
        await failing.reconcile(KEY)
    assert failing.written == {}


async def test_an_error_that_cannot_be_reported_is_retried() -> None:
    failing = FailingReconciler(Blocked("wrong"), writable=False)
    with pytest.raises(Blocked):
        await failing.reconcile(KEY)
    assert failing.recorder.warnings == []
