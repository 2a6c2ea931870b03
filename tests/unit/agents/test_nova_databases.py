"""`cobalt-agent nova databases`, with a fake of Nova itself."""

import importlib
import json
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PROGRAM = "cobaltcore.agents.nova.databases"
CELL = {"name": "cell1", "database": "db", "transport": "mq", "file": "", "enabled": True}
WANTED = {"cell0": "zero", "cells": [CELL]}


class Nova:
    """Notes what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.cells: list[str] = ["cell0"]
        self.disabled: set[str] = set()
        self.code: int | None = None
        self.has_servers = False

    def note(self, name: str) -> Any:
        def call(*_: object, **settings: object) -> int | None:
            self.calls.append((name, settings) if settings else name)
            return self.code if name == "create_cell" else None

        return call

    def mapping(self, name: str) -> SimpleNamespace:
        found = SimpleNamespace(
            name=name,
            uuid=f"uuid-{name}",
            is_cell0=lambda: name == "cell0",
            disabled=name in self.disabled,
        )
        found.save = lambda: self.calls.append(("save", name, found.disabled))
        return found

    def records(self, kind: str) -> SimpleNamespace:
        record = SimpleNamespace(destroy=lambda: self.calls.append(f"destroy {kind}"))
        return SimpleNamespace(get_all=lambda _: [record])

    def delete(self, uuid: str, *, force: bool) -> int:
        self.calls.append(("delete_cell", uuid, force))
        return 3 if self.has_servers else 0

    def modules(self) -> dict[str, ModuleType]:
        mappings = SimpleNamespace(get_all=lambda _: [self.mapping(n) for n in self.cells])
        manage = SimpleNamespace(
            ApiDbCommands=lambda: SimpleNamespace(sync=self.note("api sync")),
            DbCommands=lambda: SimpleNamespace(sync=self.note("sync")),
            CellV2Commands=lambda: SimpleNamespace(
                map_cell0=self.note("map_cell0"),
                create_cell=self.note("create_cell"),
                delete_cell=self.delete,
            ),
        )
        nova, commands = ModuleType("nova"), ModuleType("nova.cmd")
        vars(nova).update(
            config=SimpleNamespace(parse_args=lambda *_, **__: None),
            context=SimpleNamespace(
                get_admin_context=lambda: None, target_cell=lambda *_: nullcontext()
            ),
            objects=SimpleNamespace(
                register_all=lambda: None,
                CellMappingList=mappings,
                ServiceList=self.records("service"),
                ComputeNodeList=self.records("node"),
            ),
        )
        vars(commands)["manage"] = manage
        return {"nova": nova, "nova.cmd": commands}


@pytest.fixture
def nova(monkeypatch: pytest.MonkeyPatch) -> Nova:
    fake = Nova()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, PROGRAM, raising=False)
    return fake


def prepare(wanted: dict[str, Any]) -> None:
    importlib.import_module(PROGRAM).main([json.dumps(wanted)])


def test_databases_come_before_the_cells_in_them(nova: Nova) -> None:
    prepare(WANTED)
    assert nova.calls == [
        "api sync",
        ("map_cell0", {"database_connection": "zero"}),
        "sync",
        ("create_cell", {"name": "cell1", "database_connection": "db", "transport_url": "mq"}),
    ]


def test_a_cell_is_mapped_unless_nova_knows_it(nova: Nova) -> None:
    nova.cells.append("cell1")
    prepare(WANTED)
    assert nova.calls[-1] == "sync"


def test_a_command_that_fails_ends_the_program(nova: Nova) -> None:
    nova.code = 2
    with pytest.raises(SystemExit, match="mapping cell cell1 failed with code 2"):
        prepare(WANTED)


def test_another_cells_database_is_migrated_with_its_own_address(
    nova: Nova, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr("cobaltcore.agents.processes.run", lambda *words: ran.extend(words))
    prepare({"cell0": "zero", "cells": [{**CELL, "file": "/etc/nova-databases/far.conf"}]})
    # A later file wins.
    assert ran[:3] == ["nova-manage", "--config-file", "/etc/nova/nova.conf"]
    assert ran[3:5] == ["--config-file", "/etc/nova-databases/far.conf"]
    assert ran[5:] == ["db", "sync", "--local_cell"]


def test_a_cell_that_is_not_wanted_any_more_is_forgotten_with_its_hosts(nova: Nova) -> None:
    nova.cells += ["cell1", "old"]
    prepare(WANTED)
    assert nova.calls[-3:] == [
        ("delete_cell", "uuid-old", True), "destroy service", "destroy node",
    ]  # fmt: skip


@pytest.mark.parametrize("enabled", [True, False])
def test_a_cell_gets_new_servers_or_none_as_it_is_wanted(nova: Nova, *, enabled: bool) -> None:
    nova.cells.append("cell1")
    if enabled:
        nova.disabled.add("cell1")
    wanted = {**WANTED, "cells": [{**CELL, "enabled": enabled}]}
    prepare(wanted)
    assert nova.calls[-1] == ("save", "cell1", not enabled)


def test_a_cell_with_servers_stays(nova: Nova) -> None:
    nova.cells += ["cell1", "old"]
    nova.has_servers = True
    with pytest.raises(SystemExit, match="cell old cannot be removed while it has servers"):
        prepare(WANTED)
