"""`cobalt-agent nova discover-hosts`, with a fake of Nova itself."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PROGRAM = "cobaltcore.agents.nova.discover_hosts"


@dataclass
class Cell:
    """A cell with what is in its database."""

    name: str
    services: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)

    @property
    def uuid(self) -> str:
        return f"uuid-{self.name}"

    def report(self, host: str, *, seconds_ago: int = 0) -> None:
        """nova-compute of a host has registered here."""
        reported = datetime.now(UTC) - timedelta(seconds=seconds_ago)
        for records in (self.services, self.nodes):
            record = SimpleNamespace(host=host, last_seen_up=None, created_at=reported)
            record.destroy = lambda records=records, record=record: records.remove(record)
            records.append(record)


class Nova:
    """Two cells; hosts are mapped when they have reported."""

    def __init__(self) -> None:
        self.cells = [Cell("one"), Cell("two")]
        self.mappings: dict[str, Any] = {}
        self.inside = self.cells[0]

    def discover(self, _: object) -> None:
        for cell in self.cells:
            for each in cell.nodes:
                if each.host not in self.mappings:
                    self.mappings[each.host] = SimpleNamespace(
                        host=each.host, cell_mapping=cell, save=lambda: None
                    )

    @contextmanager
    def target(self, _: object, cell: Cell) -> Iterator[Cell]:
        yield cell

    def modules(self) -> dict[str, ModuleType]:
        nova, library = ModuleType("nova"), ModuleType("nova.objects")
        listed = SimpleNamespace(get_all=lambda _: self.mappings.values())
        mapping = SimpleNamespace(discover_hosts=self.discover, HostMappingList=listed)
        vars(nova).update(
            config=SimpleNamespace(parse_args=lambda *_, **__: None),
            context=SimpleNamespace(get_admin_context=lambda: None, target_cell=self.target),
            objects=library,
        )
        vars(library).update(
            register_all=lambda: None,
            host_mapping=mapping,
            CellMappingList=SimpleNamespace(get_all=lambda _: self.cells),
            ServiceList=SimpleNamespace(get_by_binary=lambda cell, *_, **__: cell.services),
            ComputeNodeList=SimpleNamespace(get_all=lambda cell: list(cell.nodes)),
            InstanceList=SimpleNamespace(get_by_host=lambda cell, _: cell.servers),
        )
        return {"nova": nova, "nova.objects": library}


@pytest.fixture
def nova(monkeypatch: pytest.MonkeyPatch) -> Nova:
    fake = Nova()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, PROGRAM, raising=False)
    return fake


def unmapped(**wanted: str) -> dict[str, str]:
    found: dict[str, str] = importlib.import_module(PROGRAM).unmapped(wanted, None)
    return found


def test_a_host_is_mapped_when_it_has_reported(nova: Nova) -> None:
    assert "has not reported in cell one" in unmapped(a="one")["a"]
    nova.cells[0].report("a")
    assert not unmapped(a="one")


def test_a_host_that_moves_is_forgotten_in_the_cell_before(nova: Nova) -> None:
    one, two = nova.cells
    one.report("a", seconds_ago=31)
    one.report("b")
    assert not unmapped(a="one", b="one")
    two.report("a")
    assert not unmapped(a="two", b="one")
    assert nova.mappings["a"].cell_mapping is two
    assert [each.host for each in (*one.nodes, *one.services)] == ["b", "b"]


def test_a_host_with_servers_stays_in_its_cell(nova: Nova) -> None:
    one, two = nova.cells
    one.report("a", seconds_ago=31)
    unmapped(a="one")
    one.servers.append("a server")
    two.report("a")
    assert unmapped(a="two")["a"] == (
        "it has 1 servers in cell one: migrate or delete them, or label the node "
        "nova.c5c3.io/cell=one again"
    )
    assert nova.mappings["a"].cell_mapping is one


def test_a_host_moves_when_the_program_before_has_stopped_and_the_next_one_reported(
    nova: Nova,
) -> None:
    one, two = nova.cells
    one.report("a")
    unmapped(a="one")
    assert "has not reported in cell two" in unmapped(a="two")["a"]
    two.report("a")
    assert unmapped(a="two")["a"] == "its nova-compute of cell one still runs"
