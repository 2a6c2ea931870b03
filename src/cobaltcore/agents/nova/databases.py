"""Migrate Nova's databases to the release, map its cells, disable some, forget removed ones: JSON.

The argument has the address of cell0's database and the cells. One process does all of it: whatever
`nova-manage` does, most of its time is spent loading Nova.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from nova import config, context, objects
from nova.cmd import manage

from cobaltcore.agents import processes

CONFIG = "/etc/nova/nova.conf"
HAS_SERVERS = 3
"""What nova-manage returns for a cell with servers that exist."""


def main(arguments: Sequence[str]) -> None:
    """Do everything that is not done; safe to run again."""
    wanted: dict[str, Any] = json.loads(arguments[0])
    config.parse_args(["databases"], default_config_files=[CONFIG])
    objects.register_all()
    cells = manage.CellV2Commands()
    expect(manage.ApiDbCommands().sync(), "migrating the API database")
    expect(cells.map_cell0(database_connection=wanted["cell0"]), "mapping cell0")
    expect(manage.DbCommands().sync(), "migrating the databases of cell0 and the first cell")
    known = {each.name: each for each in mapped()}
    for each in wanted["cells"]:
        if each["file"]:
            migrate_another(each["file"])
        if each["name"] not in known:
            created = cells.create_cell(
                name=each["name"],
                database_connection=each["database"],
                transport_url=each["transport"],
            )
            expect(created, f"mapping cell {each['name']}")
    names = {each["name"]: each["enabled"] for each in wanted["cells"]}
    for cell in mapped():
        if cell.name not in names:
            remove(cells, cell)
        elif cell.disabled == names[cell.name]:
            cell.disabled = not names[cell.name]
            cell.save()


def mapped() -> list[Any]:
    """The cells that Nova knows, but for cell0."""
    found = objects.CellMappingList.get_all(context.get_admin_context())
    return [each for each in found if not each.is_cell0()]


def remove(cells: manage.CellV2Commands, cell: Any) -> None:
    """Forget a cell and its hosts, but not its servers."""
    code = cells.delete_cell(cell.uuid, force=True)
    if code == HAS_SERVERS:
        sys.exit(
            f"cell {cell.name} cannot be removed while it has servers: delete them, or list the "
            "cell in spec.cells again"
        )
    expect(code, f"removing cell {cell.name}")
    # A cell that is added again with this database does not list what ran in it before.
    with context.target_cell(context.get_admin_context(), cell) as inside:
        for each in (
            *objects.ServiceList.get_all(inside),
            *objects.ComputeNodeList.get_all(inside),
        ):
            each.destroy()


def migrate_another(file: str) -> None:
    """Migrate the database of a cell beyond the first: a process knows one such database."""
    files = ("--config-file", CONFIG, "--config-file", file)
    processes.run("nova-manage", *files, "db", "sync", "--local_cell")


def expect(code: int | None, action: str) -> None:
    """End if a command failed; it has logged why."""
    if code:
        sys.exit(f"{action} failed with code {code}; its messages are above")
