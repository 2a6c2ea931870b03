"""Bring Nova's databases to the release and make its cells known. Runs in Nova's image.

`prepare_databases.py JSON`, with the address of cell0's database and the cells. One process for
all of it: whatever `nova-manage` does, most of its time goes into loading Nova.
"""

import json
import os
import subprocess
import sys
from typing import Any

from nova import config, context, objects  # of Nova's image
from nova.cmd import manage  # of Nova's image

CONFIG = "/etc/nova/nova.conf"


def main(wanted: dict[str, Any]) -> None:
    """Do everything that is not done; safe to run again."""
    config.parse_args(["prepare-databases"], default_config_files=[CONFIG])
    objects.register_all()
    cells = manage.CellV2Commands()
    expect(manage.ApiDbCommands().sync(), "the API's database")
    expect(cells.map_cell0(database_connection=wanted["cell0"]), "the mapping of cell0")
    expect(manage.DbCommands().sync(), "the databases of cell0 and the first cell")
    known = {each.name for each in objects.CellMappingList.get_all(context.get_admin_context())}
    for each in wanted["cells"]:
        if each["variable"]:
            migrate_another(os.environ[each["variable"]])
        if each["name"] not in known:
            made = cells.create_cell(
                name=each["name"],
                database_connection=each["database"],
                transport_url=each["transport"],
            )
            expect(made, f"the mapping of {each['name']}")


def migrate_another(address: str) -> None:
    """Migrate the database of a cell beyond the first: a process knows one such database."""
    subprocess.run(
        ["nova-manage", "db", "sync", "--local_cell"],  # noqa: S607 of Nova's image
        env={**os.environ, "OS_DATABASE__CONNECTION": address},
        check=True,
    )


def expect(code: int | None, what: str) -> None:
    """End if a command did not work; it has said why."""
    if code:
        sys.exit(f"{what}: failed with code {code}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
