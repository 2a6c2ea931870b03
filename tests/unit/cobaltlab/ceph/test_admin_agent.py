"""The agent in the monitor's container, with a simulated connection."""

from typing import Any

from cobaltlab.agents.rook import admin
from tests.unit.cobaltlab.ceph.test_health import a_status


class SimulatedSession(admin.Session):
    """Returns one status after the other; rejects the request `bad`."""

    def __init__(self, *statuses: dict[str, Any]) -> None:
        self.statuses = list(statuses)
        self.done: list[str] = []

    def status(self) -> dict[str, Any]:
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        self.done.append(request["name"])
        return {"code": -22 if request["name"] == "bad" else 0}


def a_call(*names: str, **fields: Any) -> dict[str, Any]:
    return {"requests": [{"name": name} for name in names], **fields}


def test_requests_wait_for_a_clean_cluster() -> None:
    session = SimulatedSession(a_status(groups={}), a_status(groups={"peering": 1}), a_status())
    found = admin.serve(session, a_call("one", until="clean", seconds=60))
    assert session.done == ["one"]
    assert found["status"] == a_status()


def test_nothing_is_executed_if_the_state_is_not_reached_in_time() -> None:
    session = SimulatedSession(a_status(osds=(0, 0, 0)))
    found = admin.serve(session, a_call("one", until="up"))
    assert session.done == []
    assert found == {"status": a_status(osds=(0, 0, 0)), "results": []}


def test_nothing_is_executed_after_an_error() -> None:
    session = SimulatedSession(a_status())
    found = admin.serve(session, a_call("one", "bad", "two"))
    assert session.done == ["one", "bad"]
    assert [each["code"] for each in found["results"]] == [0, -22]
