"""Cells and a host that moves between them, with a real Nova: runs in its image, prints JSON."""

import json
import sys
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from nova import config, context, objects
from nova.objects import host_mapping

from cobaltcore.agents.nova import databases, discover_hosts

HOST = "host"
CELL0 = "sqlite:////tmp/cell0.sqlite"
SECOND_DATABASE = "sqlite:////tmp/cell2.sqlite"
SECOND_FILE = "/tmp/second.conf"
FIRST: dict[str, Any] = {
    "name": "cell1", "database": "sqlite:////tmp/cell1.sqlite", "transport": "fake://",
    "file": "", "enabled": True,
}  # fmt: skip
SECOND: dict[str, Any] = {
    "name": "cell2", "database": SECOND_DATABASE, "transport": "fake://two",
    "file": SECOND_FILE, "enabled": True,
}  # fmt: skip
ID = str(uuid.uuid4())
NODE: dict[str, Any] = {
    "hypervisor_type": "QEMU", "hypervisor_version": 1, "cpu_info": "", "vcpus": 1,
    "memory_mb": 1, "local_gb": 1, "vcpus_used": 0, "memory_mb_used": 0, "local_gb_used": 0,
}  # fmt: skip


def prepare(*cells: dict[str, Any]) -> None:
    databases.main([json.dumps({"cell0": CELL0, "cells": cells})])
    # A process reads its arguments once.
    config.parse_args = lambda *_, **__: None


def admin() -> Any:
    return context.get_admin_context()


def inside(cell: str) -> Any:
    """A context in the database of a cell."""
    found = {each.name: each for each in databases.mapped()}
    return context.target_cell(admin(), found[cell])


def disabled() -> dict[str, bool]:
    return {each.name: each.disabled for each in databases.mapped()}


def report(cell: str) -> None:
    """Register as the nova-compute of the host does when it starts."""
    with inside(cell) as at:
        objects.Service(
            at, host=HOST, binary="nova-compute", topic="compute", report_count=0
        ).create()
        objects.ComputeNode(
            at, host=HOST, hypervisor_hostname=HOST, uuid=ID, mapped=0, **NODE
        ).create()


def boot(cell: str) -> None:
    """A server on the host."""
    with inside(cell) as at:
        found = objects.Instance(at, uuid=str(uuid.uuid4()), project_id="p", user_id="u")
        found.host = HOST
        found.create()


def state() -> dict[str, Any]:
    """Hosts of each cell, and the cell that the host is mapped to."""
    hosts: dict[str, Any] = {}
    for cell in databases.mapped():
        with context.target_cell(admin(), cell) as at:
            hosts[cell.name] = [each.host for each in objects.ServiceList.get_all(at)]
            nodes = [each.host for each in objects.ComputeNodeList.get_all(at)]
        if nodes != hosts[cell.name]:
            sys.exit(f"{cell.name}: services of {hosts[cell.name]}, compute nodes of {nodes}")
    (mapping,) = host_mapping.HostMappingList.get_all(admin())
    return {**hosts, "of": mapping.cell_mapping.name}


def move(cell: str) -> str:
    """Try to have the host in a cell; what prevents it."""
    problems: dict[str, str] = discover_hosts.unmapped({HOST: cell}, admin())
    return problems.get(HOST, "")


def steps() -> Iterator[tuple[str, Any]]:
    prepare(FIRST, SECOND)
    prepare(FIRST, {**SECOND, "enabled": False})
    yield "disabled", disabled()
    prepare(FIRST, SECOND)
    yield "enabled again", disabled()
    report("cell1")
    yield "mapped", move("cell1") or state()
    yield "not reported", move("cell2")
    report("cell2")
    yield "still runs", move("cell2")
    discover_hosts.SILENT = timedelta(days=-1)
    yield "moved", move("cell2") or state()
    report("cell1")
    yield "moved back", move("cell1") or state()
    boot("cell1")
    report("cell2")
    yield "has servers", move("cell2")
    prepare(FIRST)
    prepare(FIRST, SECOND)
    yield "removed and added again", state()


if __name__ == "__main__":
    Path(SECOND_FILE).write_text(f"[database]\nconnection = {SECOND_DATABASE}\n")
    sys.stdout.write(f"\n{json.dumps(dict(steps()))}\n")
