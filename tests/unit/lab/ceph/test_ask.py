"""The program in the monitor's container, with a played connection."""

from typing import Any

from cobaltcore.lab.ceph.inside import ask
from tests.unit.lab.ceph.test_health import a_status


class PlayedSession(ask.Session):
    """Tells one status after the other; refuses the request `bad`."""

    def __init__(self, *statuses: dict[str, Any]) -> None:
        self.statuses = list(statuses)
        self.done: list[str] = []

    def status(self) -> dict[str, Any]:
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.done.append(request["name"])
        return {"code": -22 if request["name"] == "bad" else 0}


def a_call(*names: str, **fields: Any) -> dict[str, Any]:
    return {"requests": [{"name": name} for name in names], **fields}


def test_requests_wait_for_the_gate() -> None:
    session = PlayedSession(a_status(groups={}), a_status(groups={"peering": 1}), a_status())
    found = ask.serve(session, a_call("one", until="clean", seconds=60))
    assert session.done == ["one"]
    assert found["status"] == a_status()


def test_without_patience_a_closed_gate_is_told_and_nothing_is_done() -> None:
    session = PlayedSession(a_status(osds=(0, 0, 0)))
    found = ask.serve(session, a_call("one", until="up"))
    assert session.done == []
    assert found == {"status": a_status(osds=(0, 0, 0)), "answers": []}


def test_nothing_follows_a_refusal() -> None:
    session = PlayedSession(a_status())
    found = ask.serve(session, a_call("one", "bad", "two"))
    assert session.done == ["one", "bad"]
    assert [each["code"] for each in found["answers"]] == [0, -22]
