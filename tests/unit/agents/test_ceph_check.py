"""`cobalt-agent ceph check`, with a fake of Ceph's libraries."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PROGRAM = "cobaltcore.agents.ceph.check"


class Cluster:
    """Reports a pool from the second request on."""

    def __init__(self) -> None:
        self.requests = 0

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @contextmanager
    def open_ioctx(self, pool: str) -> Iterator[str]:
        yield pool

    def mon_command(self, request: str, _: bytes) -> tuple[int, bytes, str]:
        assert json.loads(request)["prefix"] == "df"
        self.requests += 1
        pools = [{"name": "images", "stats": {"max_avail": 9 << 30}}] if self.requests > 1 else []
        return 0, json.dumps({"pools": pools}).encode(), ""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    rados, rbd = ModuleType("rados"), ModuleType("rbd")
    faults = ("Error", "ObjectNotFound", "PermissionDeniedError", "PermissionError")
    vars(rados).update({name: type(name, (Exception,), {}) for name in faults})
    vars(rados)["Rados"] = lambda **_: Cluster()
    vars(rbd).update(
        PermissionError=type("PermissionError", (Exception,), {}),
        Error=type("Error", (Exception,), {}),
        RBD=lambda: SimpleNamespace(list=lambda context: []),
    )
    monkeypatch.setitem(sys.modules, "rados", rados)
    monkeypatch.setitem(sys.modules, "rbd", rbd)
    monkeypatch.delitem(sys.modules, PROGRAM, raising=False)
    return importlib.import_module(PROGRAM)


def test_a_pool_that_the_monitors_do_not_report_yet_is_waited_for(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert program.free_gibibytes("/etc/ceph/ceph.conf", "glance", "images") == 9


def test_a_pool_that_is_never_reported_is_named(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert "no free space of pool 'volumes'" in program.main(["/etc/ceph/x.conf:cinder:volumes"])
