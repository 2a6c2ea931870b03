"""How verdicts and faults of a reconcile become conditions."""

import pytest

from cobaltcore.engine.report import TRANSIENT_FAILURES, may_pass, verdict_of
from cobaltcore.engine.verdict import FAILED, Blocked, Ready, Waiting, blaming, overall
from cobaltcore.runtime import errors


def an_error(kind: type[errors.ApiError], status: int) -> errors.ApiError:
    return kind(status, kind.__name__, "no")


def test_conflict_is_never_reported() -> None:
    assert may_pass(an_error(errors.Conflict, 409), 100)


@pytest.mark.parametrize(
    "error",
    [
        errors.Unreachable("no response"),
        an_error(errors.TooManyRequests, 429),
        an_error(errors.ServerError, 503),
    ],
)
def test_transient_fault_is_reported_when_it_lasts(error: Exception) -> None:
    assert may_pass(error, 1)
    assert may_pass(error, TRANSIENT_FAILURES - 1)
    assert not may_pass(error, TRANSIENT_FAILURES)


@pytest.mark.parametrize("error", [an_error(errors.Forbidden, 403), KeyError("spec")])
def test_other_faults_are_reported_at_once(error: Exception) -> None:
    assert not may_pass(error, 1)


def test_fault_of_the_api_server_is_reported_with_its_remedy() -> None:
    verdict = verdict_of(an_error(errors.Forbidden, 403))
    assert verdict == Waiting(FAILED, f"no; {errors.Forbidden.HINT}")


def test_fault_without_a_remedy_is_reported_as_retried() -> None:
    verdict = verdict_of(errors.Unreachable("no response"))
    assert verdict == Waiting(FAILED, "no response; retried with back-off")


def test_unexpected_exception_is_reported_with_its_type() -> None:
    assert verdict_of(ValueError("7 is odd")).message.startswith("ValueError: 7 is odd; ")
    assert verdict_of(ValueError()).message.startswith("ValueError; ")


def test_only_blocked_sets_stalled() -> None:
    found = {
        verdict: [(each.type, each.status) for each in overall(verdict)]
        for verdict in (Ready("Done"), Waiting("Soon", "later"), Blocked("Wrong", "change it"))
    }
    assert list(found.values()) == [
        [("Ready", "True")],
        [("Ready", "False")],
        [("Ready", "False"), ("Stalled", "True")],
    ]


def test_verdict_on_the_whole_is_of_the_kind_of_its_blocker() -> None:
    assert blaming("nova", Waiting("Soon", "later")) == Waiting("Soon", "nova: later")
    assert blaming("nova", Blocked("Wrong", "fix it")) == Blocked("Wrong", "nova: fix it")
